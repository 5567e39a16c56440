"""Values of the right type that cannot hold, alone or beside another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("sales", 'counted = ["a", "b"]\nexcluded = ["b"]', "[sales] counted and [sales] excluded both hold 'b'"),
        ("business_day", 'timezone = "Mars/Olympus"', "[business_day] timezone: 'Mars/Olympus'"),
        ("business_day", 'timezone = ""', "[business_day] timezone: ''"),
        ("business_day", 'timezone = "../UTC"', "[business_day] timezone: '../UTC'"),
        ("business_day", 'timezone = "America"', "[business_day] timezone: 'America'"),
        ("schedule", 'timezone = "Nowhere"', "[schedule] timezone: 'Nowhere'"),
        ("schedule", 'cron = "at night"', "[schedule] cron: 'at night'"),
        ("formula", "min_orders = 0", "[formula] min_orders: must be above zero"),
        ("finance", "duplicate_minutes = 0", "[finance] duplicate_minutes: must be above zero"),
        ("formula", "tolerated_noise = 0.5", "[formula] tolerated_noise: must be a share"),
        ("formula", "tolerated_noise = nan", "[formula] tolerated_noise: must be a share"),
        ("formula", 'total_rule = "observed"', "[formula] total_rule: 'observed' is no rule"),
        ("formula", 'subtotal_rule = "unit_price/"', "[formula] subtotal_rule: 'unit_price/' is no rule"),
        ("business_day", 'day_start = "4:00"', "[business_day] day_start: '4:00'"),
        ("business_day", 'day_start = "24:00"', "[business_day] day_start: '24:00'"),
        ("business_day", 'day_start = "00:60"', "[business_day] day_start: '00:60'"),
        ("business_day", 'day_start = "0²:00"', "[business_day] day_start: '0²:00'"),
        ("business_day", 'day_start = "04:00\\n"', "[business_day] day_start: '04:00\\n'"),
        ("partner", 'base_url = "partner.test"', "[partner] base_url: must start with http"),
        ("partner", 'base_url = "ftp://partner.test"', "[partner] base_url: must start with http"),
        ("partner", 'base_url = "http://"', "[partner] base_url: names no host"),
        ("partner", 'base_url = "http://["', "[partner] base_url: is no address"),
        ("partner", 'base_url = "http://partner.test:port"', "[partner] base_url: is no address"),
        ("partner", 'base_url = "http://me:pw@partner.test"', "[partner] base_url: may hold no name or password"),
        ("partner", 'base_url = "http://partner.test/?a=b"', "[partner] base_url: may hold neither"),
        ("partner", "timeout_seconds = 0", "[partner] timeout_seconds: must be above zero"),
        ("partner", "timeout_seconds = nan", "[partner] timeout_seconds: must be above zero"),
        ("partner", "connect_timeout_seconds = inf", "[partner] connect_timeout_seconds: must be above zero"),
        ("partner", "max_in_flight = 0", "[partner] max_in_flight: must be above zero"),
        ("partner", "max_tries = -1", "[partner] max_tries: must be above zero"),
        ("partner", "retry_after_cap_seconds = -1", "[partner] retry_after_cap_seconds: must be zero or above"),
        ("landing", "max_bytes = 0", "[landing] max_bytes: must be above zero"),
        ("landing", "max_depth = 0", "[landing] max_depth: must be above zero"),
        ("vault", "refused_days = 0", "[vault] refused_days: must be above zero"),
        ("warehouse", "keep_releases = 0", "[warehouse] keep_releases: must be above zero"),
        ("warehouse", "buckets = -1", "[warehouse] buckets: must be zero or above"),
        ("warehouse", "threads = -1", "[warehouse] threads: must be zero or above"),
        ("warehouse", 'memory_limit = "much"', "[warehouse] memory_limit: 'much'"),
        ("webhooks", 'host = ""', "[webhooks] host: must name"),
        ("webhooks", "port = 65536", "[webhooks] port: 65536"),
        ("webhooks", 'path = "hooks"', "[webhooks] path: must be"),
        ("webhooks", 'path = "/health"', "[webhooks] path: /health is taken"),
        ("webhooks", "topic_at = []", "[webhooks] topic_at: must name a place"),
        ("webhooks", 'id_at = ["id"]', "[webhooks] id_at: 'id' is neither"),
        ("webhooks", 'topic_at = ["/{kind}/topic"]', "[webhooks] topic_at: '/{kind}/topic' holds {kind}"),
        ("webhooks", "queue_size = 0", "[webhooks] queue_size: must be above zero"),
        ("webhooks", "slow_seconds = nan", "[webhooks] slow_seconds: must be above zero"),
        (
            "webhooks",
            'signature = "standard_webhooks"\ntolerance_seconds = 301',
            "[webhooks] tolerance_seconds: Standard",
        ),
        ("webhooks", 'signature = "hmac_sha256"\nsigned = "x"', "[webhooks] signed: must hold {body} once"),
        ("webhooks", 'signature = "hmac_sha256"\nsigned = "{id}{body}"', "[webhooks] signed: '{id}' is neither"),
        ("webhooks", 'signature = "hmac_sha256"\nsignature_header = ""', "[webhooks] signature_header: must name"),
        ("webhooks", 'signature = "hmac_sha256"\ntimestamp_header = "X-T"', "[webhooks] timestamp_header: it and"),
        ("planner", "hot_days = 8", "[planner] hot_days, warm_days and cold_days"),
        ("planner", "warm_every_hours = 0", "[planner] warm_every_hours: must be above zero"),
        ("planner", "budget = -1", "[planner] budget: must be zero or above"),
        ("planner", "missing_limit = 0", "[planner] missing_limit: must be a share"),
        ("data", 'dir = ""', "[data] dir: must name a folder"),
        ("partner.authenticate", 'path = "token"', "[partner.authenticate] path: must start with /"),
        ("partner.authenticate", 'token_pointer = "token"', "[partner.authenticate] token_pointer: 'token'"),
        ("partner.authenticate", 'expires_in_pointer = "/a~2"', "[partner.authenticate] expires_in_pointer: '/a~2'"),
        ("partner.list_stores", 'path = "stores"', "[partner.list_stores] path: must start with /"),
        ("partner.list_stores", 'items_pointer = "data"', "[partner.list_stores] items_pointer: 'data'"),
        ("partner.list_stores", 'pagination = "cursor"', "[partner.list_stores] cursor_pointer: pagination"),
        ("partner.list_stores", 'pagination = "page"', "[partner.list_stores] cursor_parameter: pagination"),
        ("partner.store", 'path = "/stores/{id}"', "[partner.store] path: must hold {store_id}"),
        ("partner.store", 'menu_id_pointers = ["/menus/*/id", "x"]', "[partner.store] menu_id_pointers: 'x'"),
        ("partner.store", 'keep_pointers = ["x"]', "[partner.store] keep_pointers: 'x'"),
        ("partner.store", 'id_pointer = "id"', "[partner.store] id_pointer: 'id'"),
        ("partner.store", 'name_pointer = "name"', "[partner.store] name_pointer: 'name'"),
        ("partner.store", 'timezone_pointer = "tz"', "[partner.store] timezone_pointer: 'tz'"),
        ("partner.store", 'currency_pointer = "c"', "[partner.store] currency_pointer: 'c'"),
        ("partner.menu", 'path = "/menus"', "[partner.menu] path: must hold {menu_id}"),
        ("partner.order", 'path = "/orders"', "[partner.order] path: must hold {id}"),
        ("landing", 'keep_pointers = ["foo"]', "[landing] keep_pointers: 'foo'"),
    ],
)
def test_what_cannot_hold_is_named(refusal: Callable[..., str], table: str, line: str, said: str) -> None:
    """A value that cannot hold is refused in one sentence that names its key."""
    sentence = refusal(f"[{table}]\n{line}")
    assert sentence.startswith(said)
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("partner", 'base_url = "https://partner.test:8443/stage"'),
        ("partner", 'base_url = "http://[::1]:8600"'),
        ("partner", "retry_after_cap_seconds = 0"),
        ("partner.authenticate", 'expires_in_pointer = ""'),
        ("partner.authenticate", 'scheme = ""'),
        (
            "partner.list_stores",
            'pagination = "cursor"\nitems_pointer = "/data"\ncursor_pointer = "/next"\ncursor_parameter = "after"',
        ),
        ("partner.store", 'menu_id_pointers = ["/menu/id", "/menus/*/id"]'),
        ("landing", 'keep_pointers = ["/a~1b/*/c~0d"]'),
        ("business_day", 'day_start = "23:59"'),
        ("schedule", 'cron = "*/15 0-5 1,15 * MON-FRI"'),
        ("schedule", 'cron = "@daily"'),
        ("warehouse", 'memory_limit = "1.5 GiB"'),
    ],
)
def test_what_can_hold_is_taken(read: Callable[..., Settings], table: str, line: str) -> None:
    """Every form that the comments of ordermart.toml name is accepted."""
    assert read(f"[{table}]\n{line}")
