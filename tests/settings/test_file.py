"""The settings file's content, and the complaints about any other."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pipelines.settings import DEFAULT_FILE, Secret, Settings, SettingsError, load_settings, settings_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def keys(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Give the keys of a TOML tree as dotted paths; what a body, a query and a tolerance hold are no settings."""
    for name, value in tree.items():
        if isinstance(value, dict) and name not in {"body", "query", "tolerance", "currency_codes"}:
            yield from keys(value, f"{path}{name}.")
        else:
            yield path + name


def fields(struct: msgspec.Struct, path: str = "") -> Iterator[str]:
    """Give the settings of a struct as dotted paths, secrets left out."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, msgspec.Struct):
            yield from fields(value, f"{path}{name}.")
        elif not isinstance(value, Secret) and path + name != "file":
            yield path + name


def test_the_file_of_the_checkout_holds_every_setting_and_no_other() -> None:
    """ordermart.toml is the list of all settings."""
    tree = tomllib.loads(DEFAULT_FILE.read_text(encoding="utf-8"))
    assert sorted(keys(tree)) == sorted(fields(load_settings(environ={})))


def test_a_file_may_leave_out_everything(read: Callable[..., Settings]) -> None:
    """An empty file gives the defaults."""
    assert settings_hash(read()) == settings_hash(load_settings(environ={}))


def test_a_file_changes_only_what_it_names(read: Callable[..., Settings]) -> None:
    """One key in a file leaves its neighbours at their defaults."""
    settings = read('[partner.store]\nid_pointer = "/store_id"')
    assert (settings.partner.store.id_pointer, settings.partner.store.name_pointer) == ("/store_id", "/name")


def test_a_body_replaces_the_default_body(read: Callable[..., Settings]) -> None:
    """The names in a body are the service's own: none of the default's stays."""
    settings = read('[partner.authenticate]\nbody = { key = "{client_id}" }')
    assert settings.partner.authenticate.body == {"key": "{client_id}"}


def test_data_lands_beside_the_file_that_is_in_use(read: Callable[..., Settings], tmp_path: Path) -> None:
    """A relative folder starts at the settings file's own."""
    assert read().data_dir == tmp_path / "data"
    assert read(f'[data]\ndir = "{tmp_path}/elsewhere"').data_dir == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[partner]\nbase_uri = 'http://x'", "[partner] base_uri: no such setting; did you mean [partner] base_url?"),
        ("[slaes]\ncounted_statuses = []", "[slaes]: no such setting; did you mean [sales]?"),
        ("[data]\ncounted_statuses = []", "[data] counted_statuses: no such setting; did you mean [sales] counted"),
        ("[xyz]\nqqq = 1", "[xyz]: no such setting (in"),
        ("[partner.store]\nid = '/id'", "[partner.store] id: no such setting"),
        ("[warehuose]\nthreads = 2", "[warehuose]: no such setting"),
        ("threads = 2", "[threads]: no such setting"),
        ("file = '/x'", "file: no such setting"),
        ("[landing]\nmax_bytes = '5'", "[landing] max_bytes: expected `int`"),
        ("[landing]\nmax_bytes = 1.5", "[landing] max_bytes: expected `int`"),
        ("[landing]\nmax_bytes = true", "[landing] max_bytes: expected `int`"),
        ("[partner]\ntimeout_seconds = '30'", "[partner] timeout_seconds: expected `float`"),
        ("[landing]\nexcess_decimals = 'keep'", "[landing] excess_decimals: must be one of quarantine, round"),
        (
            "[privacy]\nplaintext_fields = ['user_name']",
            "[privacy] plaintext_fields[0]: must be one of dispatch_note, ",
        ),
        ("[sales]\ncounted_statuses = 'delivered'", "[sales] counted_statuses: expected a list"),
        ("[sales]\ncounted_statuses = ['a', 1]", "[sales] counted_statuses[1]: expected `str`"),
        ("[partner.authenticate]\nbody = { a = 1 }", "[partner.authenticate] body: expected `str`"),
        ("partner = 5", "[partner]: expected a table"),
        ("[partner]\nstore = 5", "[partner] store: expected a table"),
        ("[data]\ndir = 5", "[data] dir: expected `str`"),
    ],
)
def test_a_wrong_key_or_type_is_named(refusal: Callable[..., str], text: str, named: str) -> None:
    """A key that does not exist and a value of another type are refused in one sentence that names the key."""
    said = refusal(text)
    assert said.startswith(named)
    assert "\n" not in said


def test_a_whole_number_is_a_number(read: Callable[..., Settings]) -> None:
    """Seconds may be written without a decimal point."""
    assert read("[partner]\ntimeout_seconds = 7").partner.timeout_seconds == 7.0


def test_a_table_that_is_none_is_named_under_an_override_too(refusal: Callable[..., str]) -> None:
    """A value where a table belongs is named although a variable sets a key of that table."""
    assert refusal("partner = 5", ORDERMART_PARTNER__MAX_ATTEMPTS="3").startswith("[partner]: expected a table")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and a file that is not TOML are each said to be so."""
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"[partner\n")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\x80\xfe")
    for file, named in (
        (tmp_path / "none.toml", "no settings file"),
        (tmp_path, "cannot be read"),
        (broken, "is not TOML"),
        (binary, "is not TOML"),
    ):
        with pytest.raises(SettingsError, match=named) as caught:
            load_settings(file, {})
        assert str(file) in str(caught.value)


def test_settings_do_not_change() -> None:
    """A setting cannot be set once it is read."""
    with pytest.raises(AttributeError):
        load_settings(environ={}).partner.max_attempts = 9  # type: ignore[misc]


def test_the_hash_follows_the_tables_it_is_asked_for(read: Callable[..., Settings]) -> None:
    """The hash of two tables changes with them, not with another, and never with a secret."""
    plain = read()
    sold = read("[sales]\ncounted_statuses = ['done']")
    secret = read(ORDERMART_PARTNER__CLIENT_SECRET="s")
    assert settings_hash(plain, "sales", "menus") != settings_hash(sold, "sales", "menus")
    assert settings_hash(plain, "menus") == settings_hash(sold, "menus")
    assert settings_hash(plain) == settings_hash(secret)


def test_dayparts_go_on_past_midnight(read: Callable[..., Settings]) -> None:
    """Every hour has the daypart that began last; by default five parts, the last until the first begins."""
    default = read().business_day.daypart_of_hour
    assert [default[hour] for hour in (0, 4, 5, 11, 14, 17, 22)] == [
        "late_night",
        "late_night",
        "breakfast",
        "lunch",
        "afternoon",
        "dinner",
        "late_night",
    ]
    assert read("[business_day]\ndayparts = []\n").business_day.daypart_of_hour == [None] * 24
