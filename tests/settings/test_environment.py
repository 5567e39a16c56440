"""Every setting can be given by an environment variable, and a variable that sets nothing is refused."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pipelines.settings import PREFIX, Daypart, FormulaComponent, FormulaRule, Secret, Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# Values that differ from the defaults and may stand with the other defaults; the rest follows from the type.
OTHERS: dict[str, tuple[str, object]] = {
    "partner.proxy": ("http://proxy.test:3128", "http://proxy.test:3128"),
    "release.copies": ('["s3://mart/x"]', ("s3://mart/x",)),
    "webhooks.trusted_proxies": ('["127.0.0.1"]', ("127.0.0.1",)),
    "partner.base_url": ("https://partner.test:1/stage", "https://partner.test:1/stage"),
    "partner.authenticate.header": ("X-Auth", "X-Auth"),
    "partner.authenticate.path": ("/token", "/token"),
    "partner.authenticate.encoding": ("form", "form"),
    "partner.list_stores.path": ("/stores", "/stores"),
    "partner.list_stores.pagination": ("link", "link"),
    "partner.store.path": ("/s/{store_id}", "/s/{store_id}"),
    "partner.menu.path": ("/m/{menu_id}", "/m/{menu_id}"),
    "partner.order.path": ("/o/{id}", "/o/{id}"),
    "landing.excess_decimals": ("round", "round"),
    "privacy.plaintext_fields": ('["instructions"]', ("instructions",)),
    "business_day.time_field": ("requested_time", "requested_time"),
    "business_day.timezone": ("America/Sao_Paulo", "America/Sao_Paulo"),
    "business_day.day_start": ("04:30", "04:30"),
    "business_day.last_year": ("2050", 2050),
    "business_day.zone_changes": ("all", "all"),
    "business_day.dayparts": (
        '[{name = "day", from = 6}, {name = "night", from = 20}]',
        (Daypart(name="day", from_hour=6), Daypart(name="night", from_hour=20)),
    ),
    "menus.product_id_scope": ("per_menu", "per_menu"),
    "formula.max_violation_rate": ("0.1", 0.1),
    "closing.tolerance": ('{EUR = "0.02"}', {"EUR": "0.02"}),
    "closing.replaced_orders": ("[3, 4]", (3, 4)),
    "closing.approver": ("another", "another"),
    "webhooks.host": ("::1", "::1"),
    "formula.total_rule": ("observed/unrounded", "observed/unrounded"),
    "formula.subtotal_rule": ("unit_price/no_modifiers/all_add/before_discount/unrounded",) * 2,
    "formula.rule": (
        '[{rule_target = "total", rule = "without_tip/unrounded", from = 2026-11-01}]',
        (FormulaRule(rule_target="total", rule="without_tip/unrounded", first_day=dt.date(2026, 11, 1)),),
    ),
    "formula.component": (
        '[{name = "bag", constant = "0.99", store = 7}]',
        (FormulaComponent(name="bag", constant="0.99", store=7),),
    ),
    "finance.currency": ("EUR", "EUR"),
    "finance.currency_codes": ('{"US$" = "USD"}', {"US$": "USD"}),
    "finance.duplicate_minutes": ("5", 5),
    "warehouse.memory_limit": ("512MB", "512MB"),
    "schedule.cron": ("0 4 * * 1-5", "0 4 * * 1-5"),
    "schedule.timezone": ("Europe/Lisbon", "Europe/Lisbon"),
    "schedule.fresh_by": ("07:30", "07:30"),
    "notify.webhook_format": ("slack", "slack"),
    "notify.smtp_security": ("none", "none"),
    "engine.name": ("ray", "ray"),
    "webhooks.signature": ("standard_webhooks", "standard_webhooks"),
    "webhooks.signature_encoding": ("base64", "base64"),
    "planner.hot_max_age_days": ("2.5", 2.5),
    "planner.max_not_found_rate": ("0.1", 0.1),
    "planner.max_failed_rate": ("0.2", 0.2),
}


def settings_with_paths(struct: msgspec.Struct, path: str = "") -> Iterator[tuple[str, object]]:
    """Give every setting, secrets too, with its default."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, msgspec.Struct):
            yield from settings_with_paths(value, f"{path}{name}.")
        elif path + name != "file":
            yield path + name, value


def another(key: str, default: object) -> tuple[str, object]:
    """Give a text for the variable, and the value that it stands for."""
    if key in OTHERS:
        return OTHERS[key]
    by_type: dict[type, tuple[str, object]] = {
        int: ("11", 11),
        float: ("7.5", 7.5),
        bool: ("true", True) if default is False else ("false", False),
        str: ("/another", "/another"),
        tuple: ('["/a", "/b"]', ("/a", "/b")),
        dict: ('{ key = "{client_id}" }', {"key": "{client_id}"}),
        Secret: ("a secret", "a secret"),
    }
    return by_type[type(default)]


def at(settings: Settings, key: str) -> Any:
    """Return the value of a key; a secret is opened."""
    value: Any = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value.reveal() if isinstance(value, Secret) else value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "default"), list(settings_with_paths(load_settings(environ={}))), ids=lambda x: str(x)[:40]
)
def test_every_setting_has_a_variable(read: Callable[..., Settings], key: str, default: object) -> None:
    """ORDERMART_TABLE__KEY sets the key and wins over the file."""
    text, value = another(key, default)
    settings = read("", **{PREFIX + key.replace(".", "__").upper(): text})
    assert at(settings, key) == value
    assert value != default


def test_a_variable_wins_over_the_file(read: Callable[..., Settings]) -> None:
    """A file's value gives way to the environment's."""
    assert read("[landing]\nmax_depth = 8", ORDERMART_LANDING__MAX_DEPTH="9").landing.max_depth == 9


def test_a_text_is_taken_as_it_is(read: Callable[..., Settings]) -> None:
    """A text needs no quotes in a variable, and those it has are its own."""
    assert read(ORDERMART_PARTNER__AUTHENTICATE__SCHEME='"Token"').partner.authenticate.scheme == '"Token"'


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    """ORDERMART_CONFIG names the file; an empty one names none."""
    file = tmp_path / "other.toml"
    file.write_text("[landing]\nmax_depth = 8", encoding="utf-8")
    assert load_settings(environ={"ORDERMART_CONFIG": str(file)}).landing.max_depth == 8
    assert load_settings(environ={"ORDERMART_CONFIG": ""}).landing.max_depth == 64


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("ORDERMART_PARTNER__BASE_URI", "x", "ORDERMART_PARTNER__BASE_URI is not a setting"),
        ("ORDERMART_FILE__", "x", "ORDERMART_FILE__ is not a setting"),
        ("ORDERMART_DATA__DIR_FILE", "x", "ORDERMART_DATA__DIR_FILE is not a setting"),
        ("ORDERMART_PARTNER_BASE_URL", "x", "is not a setting; did you mean ORDERMART_PARTNER__BASE_URL"),
        ("ORDERMART_PARTNER__BASEURL", "x", "is not a setting; did you mean ORDERMART_PARTNER__BASE_URL"),
        ("ORDERMART_VAULT_MASTER_KEY_FILE", "x", "is not a setting; did you mean ORDERMART_VAULT__MASTER_KEY_FILE"),
        ("ORDERMART_LANDING__MAX_DEPTH", "deep", "ORDERMART_LANDING__MAX_DEPTH: write a whole number"),
        ("ORDERMART_LANDING__MAX_DEPTH", "", "ORDERMART_LANDING__MAX_DEPTH: write a whole number"),
        ("ORDERMART_LANDING__MAX_DEPTH", "8\nother = 9", "ORDERMART_LANDING__MAX_DEPTH: write a whole number"),
        ("ORDERMART_LANDING__MAX_DEPTH", "1.5", "[landing] max_depth: expected `int`"),
        ("ORDERMART_PARTNER__TIMEOUT_SECONDS", "long", "ORDERMART_PARTNER__TIMEOUT_SECONDS: write a number"),
        ("ORDERMART_SALES__COUNTED_STATUSES", "done", "ORDERMART_SALES__COUNTED_STATUSES: write a list"),
        ("ORDERMART_SALES__COUNTED_STATUSES", '"done"', "[sales] counted_statuses: expected a list"),
        ("ORDERMART_PARTNER__AUTHENTICATE__BODY", "id=1", "ORDERMART_PARTNER__AUTHENTICATE__BODY: write a table"),
        ("ORDERMART_MENUS__PRODUCT_ID_SCOPE", "both", "[menus] product_id_scope: must be one of global, per_menu"),
    ],
)
def test_a_variable_that_sets_nothing_or_no_such_value_is_named(
    refusal: Callable[..., str], variable: str, text: str, said: str
) -> None:
    """A misspelt variable and one with a value of another type are refused by name."""
    assert said in refusal("", **{variable: text})


def test_other_programs_variables_are_left_alone(read: Callable[..., Settings]) -> None:
    """A variable that looks like no setting of ours is not looked at."""
    assert read(ORDERMART_RELEASE_NOTES="x", HOME="/", PARTNER__BASE_URL="x").partner.max_attempts == 12
