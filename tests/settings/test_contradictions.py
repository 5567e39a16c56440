"""Values of the right type that are invalid, alone or beside another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        (
            "sales",
            'counted_statuses = ["a", "b"]\nexcluded_statuses = ["b"]',
            "[sales] counted_statuses and excluded_statuses: both contain 'b'",
        ),
        ("business_day", 'timezone = "Mars/Olympus"', "[business_day] timezone: 'Mars/Olympus'"),
        (
            "business_day",
            'dayparts = [{name = "a", from = 24}]',
            "[business_day] dayparts: 'a' needs a name and an hour",
        ),
        (
            "business_day",
            'dayparts = [{name = "a", from = 1}, {name = "b", from = 1}]',
            "[business_day] dayparts: two have the same hour",
        ),
        ("business_day", "first_year = 2200", "[business_day] first_year, last_year: must not decrease"),
        ("business_day", "last_year = 9999", "[business_day] first_year, last_year: must not decrease"),
        ("finance", 'currency_codes = {"US$" = "usd"}', "[finance.currency_codes] US$: 'usd' is not a currency"),
        ("business_day", 'timezone = ""', "[business_day] timezone: ''"),
        ("business_day", 'timezone = "../UTC"', "[business_day] timezone: '../UTC'"),
        ("business_day", 'timezone = "America"', "[business_day] timezone: 'America'"),
        ("schedule", 'timezone = "Nowhere"', "[schedule] timezone: 'Nowhere'"),
        ("schedule", 'fresh_by = "6"', "[schedule] fresh_by: '6' is not a local time such as 06:00"),
        ("schedule", 'cron = "at night"', "[schedule] cron: 'at night'"),
        ("formula", "min_distinguishing_orders = 0", "[formula] min_distinguishing_orders: must be above zero"),
        ("finance", "duplicate_minutes = 0", "[finance] duplicate_minutes: must be above zero"),
        ("formula", "max_violation_rate = 0.5", "[formula] max_violation_rate: must be at least 0"),
        ("formula", "max_violation_rate = nan", "[formula] max_violation_rate: must be at least 0"),
        ("formula", 'rule = [{rule_target = "total", rule = "no"}]', "[[formula.rule]] no. 1: 'no' is not a rule"),
        ("formula", 'component = [{name = "bag"}]', "[[formula.component]] bag: give constant, share"),
        ("formula", 'component = [{name = "tax", share = "0.08"}]', "[[formula.component]] tax: a share needs a base"),
        (
            "formula",
            'component = [{name = "bag", constant = "1", step = "0.05"}]',
            "[[formula.component]] bag: give constant, share, price_factor or step",
        ),
        ("formula", 'component = [{name = "net", price_factor = "0.0"}]', "[[formula.component]] net: a price_factor"),
        ("formula", 'component = [{name = "coin", step = "-0.05"}]', "[[formula.component]] coin: a price_factor must"),
        (
            "formula",
            'component = [{name = "tax", share = "0.07", base = "tip", round = "line"}]',
            '[[formula.component]] tax: round needs a share; "line" needs',
        ),
        ("closing", 'tolerance = {EUR = "-1"}', "[closing.tolerance] EUR: '-1' is not an amount"),
        ("closing", 'tolerance = {euro = "1"}', "[closing.tolerance] euro: is not a currency"),
        ("formula", 'total_rule = "observed"', "[formula] total_rule: 'observed' is not a rule"),
        ("formula", 'subtotal_rule = "unit_price/"', "[formula] subtotal_rule: 'unit_price/' is not a rule"),
        ("business_day", 'day_start = "4:00"', "[business_day] day_start: '4:00'"),
        ("business_day", 'day_start = "24:00"', "[business_day] day_start: '24:00'"),
        ("business_day", 'day_start = "00:60"', "[business_day] day_start: '00:60'"),
        ("business_day", 'day_start = "0²:00"', "[business_day] day_start: '0²:00'"),
        ("business_day", 'day_start = "04:00\\n"', "[business_day] day_start: '04:00\\n'"),
        ("partner", 'base_url = "partner.test"', "[partner] base_url: must start with http"),
        ("partner", 'base_url = "ftp://partner.test"', "[partner] base_url: must start with http"),
        ("partner", 'base_url = "http://"', "[partner] base_url: must name a host"),
        ("partner", 'base_url = "http://["', "[partner] base_url: is not an address"),
        ("partner", 'base_url = "http://partner.test:port"', "[partner] base_url: is not an address"),
        (
            "partner",
            'base_url = "http://me:pw@partner.test"',
            "[partner] base_url: must not contain a name or password",
        ),
        ("partner", 'base_url = "http://partner.test/?a=b"', "[partner] base_url: must not contain ? or #"),
        ("partner", 'base_url = "http://partner.test"', "[partner] base_url: plain http sends credentials"),
        ("partner", 'base_url = "http://127.0.0.1.example.org"', "[partner] base_url: plain http sends credentials"),
        ("partner", 'base_url = "http://10.0.0.8:8600"', "[partner] base_url: plain http sends credentials"),
        ("webhooks", 'host = "0.0.0.0"', "[webhooks] host: 0.0.0.0 can be reached by others"),
        ("webhooks", 'host = "::"', "[webhooks] host: :: can be reached by others"),
        ("webhooks", 'host = "receiver"', "[webhooks] host: receiver can be reached by others"),
        ("partner", "timeout_seconds = 0", "[partner] timeout_seconds: must be above zero"),
        ("partner", "timeout_seconds = nan", "[partner] timeout_seconds: must be above zero"),
        ("partner", "connect_timeout_seconds = inf", "[partner] connect_timeout_seconds: must be finite"),
        ("partner", "max_concurrency = 0", "[partner] max_concurrency: must be above zero"),
        ("partner", "max_attempts = -1", "[partner] max_attempts: must be above zero"),
        ("partner", "max_retry_after_seconds = -1", "[partner] max_retry_after_seconds: must be zero or above"),
        ("landing", "max_bytes = 0", "[landing] max_bytes: must be above zero"),
        ("landing", "max_depth = 0", "[landing] max_depth: must be above zero"),
        ("vault", "quarantine_retention_days = 0", "[vault] quarantine_retention_days: must be above zero"),
        ("warehouse", "keep_releases = 0", "[warehouse] keep_releases: must be above zero"),
        ("dagster", "keep_days = 0", "[dagster] keep_days: must be above zero"),
        ("release", "keep_nights = -1", "[release] keep_nights: must be zero or above"),
        ("release", "publish_every_minutes = -1", "[release] publish_every_minutes: must be zero or above"),
        ("warehouse", "buckets = -1", "[warehouse] buckets: must be zero or above"),
        ("warehouse", "threads = -1", "[warehouse] threads: must be zero or above"),
        ("warehouse", 'memory_limit = "much"', "[warehouse] memory_limit: 'much'"),
        ("webhooks", 'host = ""', "[webhooks] host: must be"),
        ("webhooks", "port = 65536", "[webhooks] port: 65536"),
        ("webhooks", 'path = "hooks"', "[webhooks] path: must be"),
        ("webhooks", 'path = "/health"', "[webhooks] path: /health is reserved"),
        ("webhooks", "topic_locations = []", "[webhooks] topic_locations: must name at least one location"),
        ("webhooks", 'id_locations = ["id"]', "[webhooks] id_locations: 'id' is neither"),
        (
            "webhooks",
            'topic_locations = ["/{kind}/topic"]',
            "[webhooks] topic_locations: '/{kind}/topic' contains {kind}",
        ),
        ("webhooks", "queue_size = 0", "[webhooks] queue_size: must be above zero"),
        ("webhooks", "read_timeout_seconds = nan", "[webhooks] read_timeout_seconds: must be above zero"),
        (
            "webhooks",
            'signature = "standard_webhooks"\ntolerance_seconds = 301',
            "[webhooks] tolerance_seconds: Standard",
        ),
        (
            "webhooks",
            'signature = "hmac_sha256"\nsigning_template = "x"',
            "[webhooks] signing_template: must contain {body} exactly once",
        ),
        (
            "webhooks",
            'signature = "hmac_sha256"\nsigning_template = "{id}{body}"',
            "[webhooks] signing_template: '{id}' is neither",
        ),
        ("webhooks", 'signature = "hmac_sha256"\nsignature_header = ""', "[webhooks] signature_header: must name"),
        (
            "webhooks",
            'signature = "hmac_sha256"\ntimestamp_header = "X-T"',
            "[webhooks] timestamp_header: must be set if and only if",
        ),
        ("planner", "hot_max_age_days = 8", "[planner] hot_max_age_days, warm_max_age_days, cold_max_age_days"),
        ("planner", "warm_interval_hours = 0", "[planner] warm_interval_hours: must be above zero"),
        ("planner", "request_budget = -1", "[planner] request_budget: must be zero or above"),
        ("planner", "max_not_found_rate = 0", "[planner] max_not_found_rate: must be above 0"),
        ("planner", "max_failed_rate = 1.5", "[planner] max_failed_rate: must be above 0"),
        ("data", 'dir = ""', "[data] dir: must name a folder"),
        ("partner.authenticate", 'path = "token"', "[partner.authenticate] path: must start with /"),
        ("partner.authenticate", 'token_pointer = "token"', "[partner.authenticate] token_pointer: 'token'"),
        ("partner.authenticate", 'expires_in_pointer = "/a~2"', "[partner.authenticate] expires_in_pointer: '/a~2'"),
        ("partner.list_stores", 'path = "stores"', "[partner.list_stores] path: must start with /"),
        ("partner.list_stores", 'items_pointer = "data"', "[partner.list_stores] items_pointer: 'data'"),
        ("partner.list_stores", 'pagination = "cursor"', "[partner.list_stores] cursor_pointer: required by"),
        ("partner.list_stores", 'pagination = "page"', "[partner.list_stores] cursor_parameter: required by"),
        ("partner.store", 'path = "/stores/{id}"', "[partner.store] path: must contain {store_id}"),
        ("partner.store", 'menu_id_pointers = ["/menus/*/id", "x"]', "[partner.store] menu_id_pointers: 'x'"),
        ("partner.store", 'allowed_pointers = ["x"]', "[partner.store] allowed_pointers: 'x'"),
        ("partner.store", 'id_pointer = "id"', "[partner.store] id_pointer: 'id'"),
        ("partner.store", 'name_pointer = "name"', "[partner.store] name_pointer: 'name'"),
        ("partner.store", 'timezone_pointer = "tz"', "[partner.store] timezone_pointer: 'tz'"),
        ("partner.store", 'currency_pointer = "c"', "[partner.store] currency_pointer: 'c'"),
        ("partner.menu", 'path = "/menus"', "[partner.menu] path: must contain {menu_id}"),
        ("partner.order", 'path = "/orders"', "[partner.order] path: must contain {id}"),
        ("landing", 'allowed_pointers = ["foo"]', "[landing] allowed_pointers: 'foo'"),
        (
            "[formula.component]",
            'name = "fee"\nconstant = "1.50"\nwhen = "subtotal_price less than 10"',
            "[[formula.component]] fee: when: 'subtotal_price less than 10' is not a condition such as",
        ),
        (
            "[formula.rule]",
            'rule_target = "total"\nrule = "zero/unrounded"\nwhen = "tip = 0 and status < \'x\'"',
            "[[formula.rule]] no. 1: when: \"status < 'x'\" is not a condition such as",
        ),
    ],
)
def test_invalid_value_is_named(refusal: Callable[..., str], table: str, line: str, said: str) -> None:
    """An invalid value is rejected in one sentence that starts with its key."""
    sentence = refusal(f"[{table}]\n{line}")
    assert sentence.startswith(said)
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("partner", 'base_url = "https://partner.test:8443/stage"'),
        ("partner", 'base_url = "http://[::1]:8600"'),
        ("partner", 'base_url = "http://localhost:8600"'),
        ("partner", 'base_url = "http://127.8.0.1"'),
        ("security]\nallow_plain_http = true\n[partner", 'base_url = "http://partner.test"'),
        ("webhooks", 'host = "::1"'),
        ("webhooks", 'host = "0.0.0.0"\nsignature = "hmac_sha256"'),
        ("security]\nallow_unsigned_webhooks = true\n[webhooks", 'host = "0.0.0.0"'),
        ("partner", "max_retry_after_seconds = 0"),
        ("partner.authenticate", 'expires_in_pointer = ""'),
        ("partner.authenticate", 'scheme = ""'),
        (
            "partner.list_stores",
            'pagination = "cursor"\nitems_pointer = "/data"\ncursor_pointer = "/next"\ncursor_parameter = "after"',
        ),
        ("partner.store", 'menu_id_pointers = ["/menu/id", "/menus/*/id"]'),
        ("landing", 'allowed_pointers = ["/a~1b/*/c~0d"]'),
        ("business_day", 'day_start = "23:59"'),
        ("schedule", 'cron = "*/15 0-5 1,15 * MON-FRI"'),
        ("schedule", 'cron = "@daily"'),
        ("warehouse", 'memory_limit = "1.5 GiB"'),
    ],
)
def test_what_can_hold_is_taken(read: Callable[..., Settings], table: str, line: str) -> None:
    """Every form that the comments of ordermart.toml name is accepted."""
    assert read(f"[{table}]\n{line}")
