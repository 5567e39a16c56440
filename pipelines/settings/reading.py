"""Read the settings file, apply the environment, and convert both into typed settings; knows no single key."""

import difflib
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from pipelines.literals import unmarked
from pipelines.resources import CHECKOUT, resource
from pipelines.settings.contradictions import contradictions, readable_by_others
from pipelines.settings.setting_tables import Secret, Settings, SettingsError, SettingsTable

PREFIX = "ORDERMART_"
DEFAULT_FILE = resource("ordermart.toml")  # every key with its default
_ABOVE_ZERO = "must be above zero"
# of whole numbers above zero msgspec names the least
_BOUNDS = {">": _ABOVE_ZERO, ">= 1": _ABOVE_ZERO, ">=": "must be zero or above", "<=": "must be finite"}


def load_settings(file: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read settings from the defaults, then `file`, then the environment.

    A file may leave out any key. Without a file and without ORDERMART_CONFIG, a checkout uses its own ordermart.toml;
    an installed wheel uses the one in the current folder if there is one, and writes below the current folder.
    Raise SettingsError, naming the key, for an unknown key, a wrong type or an invalid value.
    """
    environ = os.environ if environ is None else environ
    named = file or environ.get(PREFIX + "CONFIG")
    path = Path(named or (CHECKOUT or Path.cwd()) / DEFAULT_FILE.name).expanduser().resolve()
    tree = _read(DEFAULT_FILE)
    if path != DEFAULT_FILE and (named or path.exists()):
        _merge(tree, _read(path))
    if "file" in tree:  # a field of Settings, but not a setting
        raise SettingsError(f"file: no such setting (in {path.name})")
    for (table, key), variable in _secrets():
        if isinstance(tree.get(table), dict) and key in tree[table]:
            advice = f"set {variable} or {variable}_FILE"
            raise SettingsError(f"[{table}] {key} is a secret and must not be in {path.name}: {advice}")
    secret_files = _override(tree, environ)
    tree["file"] = path
    try:
        settings = msgspec.convert(tree, Settings, dec_hook=_decode, strict=True)
    except msgspec.ValidationError as error:
        *tables, key = _pointer(error).split(".")
        place = f"[{'.'.join(tables)}] {key}" if tables else f"[{key}]"
        raise SettingsError(f"{place}: {_complaint(error)} (in {path.name} or the environment)") from None
    for variable, secret in secret_files if not settings.security.allow_readable_secrets else ():
        if readable_by_others(secret):
            why = f"{variable} names a file that others can read: chmod 600 it, then change the secret"
            raise SettingsError(f"{why}; or set [security] allow_readable_secrets = true")
    for complaint in contradictions(settings):
        raise SettingsError(complaint)
    return settings


def without_secrets(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values by table and key, without secrets and without the file's path."""
    return dict(_plain(settings))


def given_keys(file: Path | None, environ: Mapping[str, str] | None = None) -> set[str]:
    """Return the dotted keys that a settings file or the environment gives; all others have their defaults."""
    environ = os.environ if environ is None else environ
    tree = _read(file) if file is not None and file.exists() and file.resolve() != DEFAULT_FILE else {}
    in_environment = {name.removeprefix(PREFIX).lower().replace("__", ".") for name in environ if "__" in name}
    return {*_dotted(tree), *in_environment}


def _dotted(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict) and key not in {"body", "query"}:  # whose keys are the service's own
            yield from _dotted(value, f"{path}{key}.")
        else:
            yield path + key


def settings_hash(settings: Settings, *tables: str) -> str:
    """Return the SHA-256 of the named tables of settings (all if none is named), without secrets."""
    plain = without_secrets(settings)
    chosen = {name: plain[name] for name in tables} if tables else plain
    return hashlib.sha256(msgspec.json.encode(chosen, order="deterministic")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {k: _plain(v) for k, v in fields if not isinstance(v, Secret | Path)}
    return value


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(unmarked(path.read_bytes()).decode())
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}: name another with --config") from None
    except OSError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None


def _merge(tree: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        # A body's keys are the service's own: a body in the file replaces the default whole.
        if isinstance(value, dict) and isinstance(tree.get(key), dict) and key != "body":
            _merge(tree[key], value)
        else:
            tree[key] = value


def _keys(table: type, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every key with its type; the path starts with its tables."""
    for name, kind in get_type_hints(table).items():
        if isinstance(kind, type) and issubclass(kind, SettingsTable):
            yield from _keys(kind, (*path, name))
        elif kind is not Path:
            yield (*path, name), kind


def _variable(path: tuple[str, ...]) -> str:
    return PREFIX + "__".join(path).upper()


def _secrets() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys that only the environment may set, each with its variable."""
    return ((path, _variable(path)) for path, kind in _keys(Settings) if kind is Secret)


def _override(tree: dict[str, Any], environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Apply ORDERMART_TABLE__KEY to the tree; return the files that ORDERMART_TABLE__KEY_FILE names, with variables."""
    secret_files = []
    known = {_variable(path): (path, kind) for path, kind in _keys(Settings)}
    in_files = {f"{variable}_FILE": variable for _, variable in _secrets()}
    meant = {variable.replace("_", ""): variable for variable in (*known, *in_files)}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        if variable not in meant.values() and variable.replace("_", "") in meant:
            raise SettingsError(f"{variable} is not a setting; did you mean {meant[variable.replace('_', '')]}?")
        if "__" not in variable:
            continue  # ORDERMART_CONFIG, and variables that are not settings
        if (name := in_files.get(variable, variable)) not in known:
            raise SettingsError(f"{variable} is not a setting: see ordermart.toml")
        if name != variable and name in environ:
            raise SettingsError(f"{name} and {variable} are both set: remove one")
        path, kind = known[name]
        value = environ[variable]
        if name != variable:
            secret_files.append((variable, Path(value).expanduser()))
            value = _read_secret(*secret_files[-1])
        table: Any = tree
        for part in path[:-1]:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                break  # the file has a value in place of a table: reported when types are checked
        else:
            table[path[-1]] = _typed(variable, value, kind)
    return secret_files


def _read_secret(variable: str, file: Path) -> str:
    try:
        return unmarked(file.read_bytes()).decode().strip()
    except OSError as error:
        raise SettingsError(f"{variable} names a file that cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{variable} names a file that is not UTF-8 text") from None


def _typed(variable: str, value: str, kind: Any) -> Any:
    if kind in {str, Secret} or get_origin(kind) is Literal:
        return value
    try:
        read = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        read = {}
    if read.keys() != {"value"}:  # a line break in the value would add keys
        raise SettingsError(f"{variable}: write {_example(kind)}")
    return read["value"]


def _example(kind: Any) -> str:
    """Return how to write a value of this type."""
    if get_origin(kind) is tuple:
        return 'a list as in TOML, such as ["a", "b"]'
    numbers = {int: "a whole number, such as 4", float: "a number, such as 2.5"}
    return numbers.get(kind, 'a table as in TOML, such as {key = "value"}')


def _decode(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is Path:
        return value
    raise NotImplementedError


def _pointer(error: msgspec.ValidationError) -> str:
    """Return the location of an error, such as partner.store.menu_id_pointers[0]; "" is the whole file."""
    text = str(error)
    pointer = text.rsplit(" - at `$", 1)[1].rstrip("`").lstrip(".") if " - at `$" in text else ""
    pointer = pointer.replace("[...]", "")  # a value of a table with arbitrary keys
    if "unknown field" in text or "missing required field" in text:
        pointer = ".".join(part for part in (pointer, text.split("`")[1]) if part)
    return pointer


def _complaint(error: msgspec.ValidationError) -> str:
    text = str(error).rsplit(" - at `$", 1)[0]
    if bound := re.match(r"Expected `\w+` (>= 1$|>=|>|<=)", text):
        return _BOUNDS[bound[1]]
    if "unknown field" in text:
        return f"no such setting{_nearest(_pointer(error))}"
    if "enum value" in text:
        path = tuple(re.sub(r"\[.*", "", _pointer(error)).split("."))
        kind = dict(_keys(Settings))[path]
        kind = get_args(kind)[0] if get_origin(kind) is tuple else kind
        return f"must be one of {', '.join(get_args(kind))}"
    return text[0].lower() + text[1:].replace("`object`", "a table").replace("`array`", "a list")


def _nearest(pointer: str) -> str:
    """Return a question that names the key most like an unknown one, by its own name; "" if none is like it."""
    if "[" in pointer:  # of a list of tables, whose keys are not settings
        return ""
    *tables, name = pointer.split(".")
    paths = [path for path, _ in _keys(Settings)]
    paths += [path[:-1] for path in paths if len(path) > 1]
    beside = {path[-1]: path for path in paths if path[:-1] == tuple(tables)}
    names = beside or {}
    close = difflib.get_close_matches(name, names, 1, 0.7)
    if not close:  # perhaps the right key in a wrong table
        names = {path[-1]: path for path in reversed(paths)}
        close = difflib.get_close_matches(name, names, 1, 0.85)
    if not close:
        return ""
    *inside, key = names[close[0]]
    return f"; did you mean [{'.'.join(inside)}] {key}?" if inside else f"; did you mean [{key}]?"
