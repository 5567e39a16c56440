"""Read ordermart.toml and the environment into frozen, typed settings.

Knows nothing of what the settings are for. Everything that the partner's interface does not show is a key here,
with its default in `ordermart.toml`; an error names the key.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import zoneinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "ORDERMART_"
ROOT = Path(__file__).resolve().parents[1]
DEFAULT_FILE = ROOT / "ordermart.toml"
OPEN_FIELDS = ("dispatch_note", "instructions", "confirmation_code", "tracking_url")


class SettingsError(Exception):
    """A setting is missing, unknown or wrong; the message names its key."""


class Secret:
    """A value that shows itself only when asked: not in a repr, a log or an error."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret itself."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of the settings file."""


class Authenticate(_Table):
    """How a token is obtained and sent: interface section 5 does not show it."""

    path: str
    encoding: Literal["json", "form", "basic"]
    body: dict[str, str]
    token_pointer: str
    expires_in_pointer: str
    header: str
    scheme: str


class ListStores(_Table):
    """How stores are listed: interface section 4.2 does not show it."""

    path: str
    items_pointer: str
    pagination: Literal["none", "link", "cursor", "page"]
    cursor_pointer: str
    cursor_parameter: str


class StoreRecord(_Table):
    """Where a store record keeps what we need: interface section 2.3 does not show it."""

    path: str
    id_pointer: str
    name_pointer: str
    timezone_pointer: str
    currency_pointer: str
    menu_id_pointers: tuple[str, ...]
    keep_pointers: tuple[str, ...]


class Endpoint(_Table):
    """The path of one operation."""

    path: str


class Partner(_Table):
    """The partner service: where it is and how patiently it is asked."""

    base_url: str
    timeout_seconds: float
    connect_timeout_seconds: float
    max_in_flight: int
    max_tries: int
    retry_after_cap_seconds: float
    authenticate: Authenticate
    list_stores: ListStores
    store: StoreRecord
    menu: Endpoint
    order: Endpoint
    client_id: Secret = Secret("")
    client_secret: Secret = Secret("")


class Landing(_Table):
    """What the gate lets through."""

    max_bytes: int
    max_depth: int
    excess_decimals: Literal["quarantine", "round"]
    keep_pointers: tuple[str, ...]


class Privacy(_Table):
    """Which free texts and links are declared free of personal data."""

    open_fields: tuple[Literal["dispatch_note", "instructions", "confirmation_code", "tracking_url"], ...]


class VaultSettings(_Table):
    """Keys of the vault, and how long it keeps refused bodies."""

    refused_days: int
    key_file: str
    master_key: Secret = Secret("")
    lookup_secret: Secret = Secret("")


class BusinessDay(_Table):
    """Which time of an order decides its business day, and where a day begins."""

    time: Literal["created_at", "requested_time", "promised_delivery_time"]
    timezone: str
    day_start: str


class Sales(_Table):
    """Which statuses count as a sale: interface section 3 does not show it."""

    counted: tuple[str, ...]
    excluded: tuple[str, ...]


class Menus(_Table):
    """What a product id means across menus."""

    product_ids: Literal["global", "per_menu"]


class Data(_Table):
    """Where everything is written."""

    dir: str


class Warehouse(_Table):
    """Resources of the build, and how many releases stay."""

    buckets: int
    memory_limit: str
    threads: int
    keep_releases: int


class Schedule(_Table):
    """When the nightly job runs."""

    cron: str
    timezone: str


class Settings(_Table):
    """All settings; `data_dir` is where everything is written."""

    partner: Partner
    landing: Landing
    privacy: Privacy
    vault: VaultSettings
    business_day: BusinessDay
    sales: Sales
    menus: Menus
    data: Data
    warehouse: Warehouse
    schedule: Schedule
    file: Path

    @property
    def data_dir(self) -> Path:
        """The folder that holds everything ordermart writes, absolute."""
        return (self.file.parent / self.data.dir).resolve()


# The only keys that a file may not hold.
_SECRETS = {
    ("partner", "client_id"),
    ("partner", "client_secret"),
    ("vault", "master_key"),
    ("vault", "lookup_secret"),
}


def load_settings(file: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read settings from the defaults, then `file`, then the environment.

    A file may leave out any key: the default of `ordermart.toml` in the checkout holds.
    Raise SettingsError, naming the key, for an unknown key, a wrong type or a value that cannot hold.
    """
    environ = os.environ if environ is None else environ
    named = file or environ.get(PREFIX + "CONFIG") or DEFAULT_FILE
    path = Path(named).expanduser().resolve()
    tree = _read(DEFAULT_FILE)
    if path != DEFAULT_FILE:
        _merge(tree, _read(path))
    for table, key in _SECRETS:
        if isinstance(tree.get(table), dict) and key in tree[table]:
            raise SettingsError(
                f"[{table}] {key} is a secret and may not stand in {path.name}: "
                f"set {PREFIX}{table.upper()}__{key.upper()} or {PREFIX}{table.upper()}__{key.upper()}_FILE"
            )
    _override(tree, environ)
    tree["file"] = path
    try:
        settings = msgspec.convert(tree, Settings, dec_hook=_decode, strict=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{_place(error)}: {_complaint(error)} (in {path.name} or the environment)") from None
    for complaint in _contradictions(settings):
        raise SettingsError(complaint)
    return settings


def settings_hash(settings: Settings, *tables: str) -> str:
    """Return the SHA-256 of the named tables of settings (all without names), secrets left out."""
    plain = _plain(settings)
    chosen = {name: plain[name] for name in tables} if tables else plain
    return hashlib.sha256(msgspec.json.encode(chosen, order="deterministic")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {k: _plain(v) for k, v in fields if not isinstance(v, Secret | Path)}
    return value


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}: name another with --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None


def _merge(tree: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        # A body's keys are the service's own names: a file's body replaces the default's.
        if isinstance(value, dict) and isinstance(tree.get(key), dict) and key != "body":
            _merge(tree[key], value)
        else:
            tree[key] = value


def _keys(table: type, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, kind in get_type_hints(table).items():
        if isinstance(kind, type) and issubclass(kind, _Table):
            yield from _keys(kind, (*path, name))
        elif kind is not Path:
            yield (*path, name), kind


def _override(tree: dict[str, Any], environ: Mapping[str, str]) -> None:
    known = {PREFIX + "__".join(path).upper(): (path, kind) for path, kind in _keys(Settings)}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        value, name = environ[variable], variable
        if variable not in known and variable.endswith("_FILE") and variable[:-5] in known:
            name = variable[:-5]
            try:
                value = Path(value).expanduser().read_text(encoding="utf-8").strip()
            except OSError as error:
                raise SettingsError(f"{variable} names a file that cannot be read: {error.strerror}") from None
        if name not in known:
            raise SettingsError(f"{variable} sets no setting that exists: see ordermart.toml")
        path, kind = known[name]
        table = tree
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = _typed(variable, value, kind)


def _typed(variable: str, value: str, kind: Any) -> Any:
    if kind is Secret:
        return value
    if kind is str or (get_origin(kind) is Literal and isinstance(get_args(kind)[0], str)):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        raise SettingsError(f"{variable}: not a TOML value of the kind this setting takes") from None


def _decode(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is Path:
        return value
    raise NotImplementedError


def _place(error: msgspec.ValidationError) -> str:
    text = str(error)
    if " - at `$" not in text:
        unknown = text.split("`")
        return unknown[1] if len(unknown) > 1 else "settings"
    pointer = text.rsplit(" - at `$", 1)[1].rstrip("`").lstrip(".")
    if "unknown field" in text or "missing required field" in text:
        pointer = ".".join(p for p in (pointer, text.split("`")[1]) if p)
    *tables, key = pointer.split(".")
    return f"[{'.'.join(tables)}] {key}" if tables else key


def _complaint(error: msgspec.ValidationError) -> str:
    text = str(error).rsplit(" - at `$", 1)[0]
    if "unknown field" in text:
        return "no such setting"
    return text[0].lower() + text[1:]


def _contradictions(settings: Settings) -> Iterator[str]:
    both = sorted(set(settings.sales.counted) & set(settings.sales.excluded))
    if both:
        yield f"[sales] counted and [sales] excluded both hold {both[0]!r}: a status is in one of them or in none"
    for key, name in (
        ("[business_day] timezone", settings.business_day.timezone),
        ("[schedule] timezone", settings.schedule.timezone),
    ):
        try:
            zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            yield f"{key}: {name!r} is no timezone of the IANA database"
    start = settings.business_day.day_start
    hours, _, minutes = start.partition(":")
    if not (len(start) == len("00:00") and hours.isdigit() and minutes.isdigit() and int(hours) < 24 and int(minutes) < 60):
        yield f"[business_day] day_start: {start!r} is no local time like 04:00"
    if not settings.partner.base_url.startswith(("http://", "https://")):
        yield "[partner] base_url: must start with http:// or https://"
    positive = {
        "[partner] timeout_seconds": settings.partner.timeout_seconds,
        "[partner] connect_timeout_seconds": settings.partner.connect_timeout_seconds,
        "[partner] max_in_flight": settings.partner.max_in_flight,
        "[partner] max_tries": settings.partner.max_tries,
        "[landing] max_bytes": settings.landing.max_bytes,
        "[landing] max_depth": settings.landing.max_depth,
        "[vault] refused_days": settings.vault.refused_days,
        "[warehouse] keep_releases": settings.warehouse.keep_releases,
    }
    for key, number in positive.items():
        if number <= 0:
            yield f"{key}: must be above zero"
    for key, path, part in (
        ("[partner.store] path", settings.partner.store.path, "{store_id}"),
        ("[partner.menu] path", settings.partner.menu.path, "{menu_id}"),
        ("[partner.order] path", settings.partner.order.path, "{id}"),
    ):
        if part not in path:
            yield f"{key}: must hold {part}"
