"""Tell the story of a small world: landed, built, closed, changed and built again, at a fixed time."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

from pipelines import clock
from pipelines.finance import closing, reconciliation
from pipelines.finance.released import Selection, one_day
from pipelines.inbox.store import connect, micros, transaction
from pipelines.landing.data_folder import keep_behaviour
from pipelines.ledger import HEADER, User, import_totals, ledger_of
from pipelines.partner.behaviour import Counted
from pipelines.settings import load_settings
from pipelines.warehouse.inputs.sources import ComparedPart, append_verification
from pipelines.warehouse.release.release import publish
from tests.unchanged import drawn
from tests.warehouse.conftest import World, menu, store

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20
ENVIRON = {"ORDERMART_WAREHOUSE__THREADS": "1"}
SETTINGS = """
[sales]
counted_statuses = ["done", "ready"]
excluded_statuses = ["refused"]
[formula]
min_distinguishing_orders = 3
max_violation_rate = 0.2
[[formula.component]]
name = "bag"
constant = "0.10"
store = 2
[[formula.component]]
name = "service"
share = "0.05"
base = "subtotal_less_discount"
platform = "kiosk"
from = 2026-10-25
[[formula.rule]]
rule_target = "total"
rule = "without_tip/unrounded"
store = 5
[finance]
duplicate_minutes = 30
[closing]
tolerance = {EUR = "0.02"}
[reference]
stores = "stores.csv"
products = "products.csv"
platforms = "platforms.csv"
"""
REFERENCE = {
    "stores.csv": "store_id,region,opened_on\n1,Old town,2024-05-01\n2,Coast,2025-01-01\n77,Nowhere,\n",
    "products.csv": "product_id,category,is_combo\n100,Soups,true\n101,Breads,false\n555,Gone,\n",
    "platforms.csv": "platform,platform_name,platform_group\nweb,The web,own\nfax,Fax,old\n",
}
CLOSED_AT = dt.datetime(2026, 11, 7, 0, 30, tzinfo=dt.UTC)
LATER_AT = dt.datetime(2026, 11, 12, 0, 30, tzinfo=dt.UTC)
FIRST_HOURS, LATER_HOURS = 97, 200  # after 2026-11-01 12:00 UTC: before either time
ANNE, WHY = User(1001, "Anne"), "the story of a world that does not change"
CLOSED = (("2026-10-23", None), ("2026-10-24", None), ("2026-10-25", 1), ("2026-10-26", None), ("2026-10-28", 2))


def begin(folder: Path) -> World:
    """Land a first night in a folder: stores, menus, orders and what else a build reads; build all of it."""
    world = World(folder, **ENVIRON)
    world.settings.file.write_text(SETTINGS, encoding="utf-8")
    for name, text in REFERENCE.items():
        (folder / name).write_text(text, encoding="utf-8")
    world.settings = load_settings(world.settings.file, ENVIRON)
    clock.shift_clock(CLOSED_AT)
    world.land("stores", [{"id": each["id"], "at": -200, "document": each} for each in drawn.stores()])
    old, new = drawn.menus(("5.25", "4", "6")), drawn.menus(("5.25", "5", "7.5"))
    world.land("menus", [_about(each, -190 + 2 * each["menu"]["id"]) for each in old])
    world.land("menus", [_about(each, 20) for each in new[1:]] + [{"id": 9, "at": 20, "verdict": "missing"}])
    world.land("orders", drawn.regular_orders())
    first = drawn.orders(random.Random(SEED))
    world.land("orders", [{**each, "cost": _cost(number)} for number, each in enumerate(first[:90])])
    world.land("orders", [*first[90:], {**first[0], "at": 99, "verdict": "unchanged"}])
    world.land("orders", [{**each, "at": -30} for each in first[3:12] if "document" in each], source="archive")
    undated = [{**each, "at": None, "document": {**each["document"], "tip": "8"}} for each in first[14:18]]
    world.land("orders", undated, source="archive")
    _note(world)
    world.build()
    return world


def close_days(world: World) -> None:
    """Publish, close days, decide of breaks, and reopen one of the days."""
    publish(world.settings)
    found = reconciliation.list_breaks(world.settings, Selection())
    ids = sorted({each["order_id"] for each in found})
    reconciliation.accept_breaks(world.settings, ids[:3], "as agreed", ANNE)
    reconciliation.assign_breaks(world.settings, ids[2:5], "Ben", ANNE)
    reconciliation.comment_on_breaks(world.settings, ids[1:4], "looked at", ANNE)
    for day, store_id in CLOSED:
        closing.close(world.settings, one_day(day), store_id, exceptions=WHY, user=ANNE)
    closing.reopen(world.settings, dt.date(2026, 10, 24), None, WHY, ANNE)


def go_on(world: World) -> None:
    """Land a later night, in which much has changed, build the increment, and record restatements.

    Raise AssertionError where everything was built again: that would hide faults of increments.
    """
    clock.shift_clock(LATER_AT)
    rng = random.Random(SEED + 1)
    before = drawn.orders(random.Random(SEED))
    changes = [{**each, "at": LATER_HOURS} for each in drawn.changed(rng, before)]
    world.land("orders", changes)
    again = {"at": LATER_HOURS + 1, "verdict": "unchanged", "personal": ["user_email"]}
    world.land("orders", [{**each, **again} for each in before[:9]])
    gone = [{"id": each, "at": LATER_HOURS + n, "verdict": "missing"} for n in range(2, 5) for each in (10, 11, 12, 50)]
    world.land("orders", [*gone, {**before[49], "at": LATER_HOURS + 6}])
    late = [{**each, "at": -40, "document": {**each["document"], "tip": "9"}} for each in before[60:64]]
    world.land("orders", late, source="archive")
    refused = {"verdict": "quarantined", "reason": "too_many_decimals", "pointer": "/tip"}
    world.land("orders", [{"id": each, "at": LATER_HOURS, **refused} for each in (20, 21, 999)])
    world.land(
        "orders", [{"id": 35, "at": LATER_HOURS, "document": {**before[0]["document"], "id": 35}, "customer": "a"}]
    )
    others = [
        store(1, name="North", menu_ids=[1, 2, 3]),
        store(2, name="South side", timezone="America/Bogota", currency="PEN", menu_ids=[2]),
        store(3, name="West", timezone="Asia/Kuwait", currency="USD", menu_ids=[]),
    ]
    world.land("stores", [{"id": each["id"], "at": LATER_HOURS, "document": each} for each in others])
    (lunch, _, late_menu) = drawn.menus(("5.50", "5", "7.5"))
    late_menu["menu"]["name"] = "Later still"
    seen_late = menu(7, (100, 104), p100="6", p104="4")
    world.land("menus", [_about(lunch, LATER_HOURS), _about(late_menu, LATER_HOURS), _about(seen_late, -150)])
    world.land("menus", [_about(drawn.menus(("5.25", "4", "6"))[0], -240)], source="archive")
    result = world.build()
    assert not result.full, f"the later night was no increment: {result.why}"
    closing.record_restatements(world.settings)


def _cost(number: int) -> dict[str, Any]:
    """Return what a request cost: some were tried again, some came from a backfill."""
    failed = {"http_status": 503, "reason": "http_503", "ms": 7, "bytes": 3}
    tries = 1 + number % 3
    return {
        "ms": 10 * number,
        "bytes": 100 + number,
        "tries": tries,
        "earlier_tries": [failed] * (tries - 1),
        "load_started_at": CLOSED_AT - dt.timedelta(days=2),
    }


def _about(document: dict[str, Any], hours: int) -> dict[str, Any]:
    return {"id": document["menu"]["id"], "at": hours, "document": document}


def _note(world: World) -> None:
    """Keep what no load brings: control totals, deliveries, the service's behaviour, verifications."""
    data, file = world.data, world.settings.file.with_name("totals.csv")
    rows = [
        "2026-10-23,1,3,31.25,total_price,counted",
        "2026-10-24,1,2,,total_price,all",
        "2026-10-24,2,,12.50,subtotal_price,counted",
        "2026-10-26,3,0,0,total_price,unmapped",
        "2026-12-01,9,1,5,total_price,counted",
    ]
    file.write_text("\n".join([",".join(HEADER), *rows, ""]), encoding="utf-8")
    import_totals(ledger_of(data), file)
    deliveries = connect(data / "inbox" / "worklist.sqlite")
    with transaction(deliveries):
        for number in range(40):
            at = CLOSED_AT - dt.timedelta(hours=5 * number, minutes=number)
            topic, kind = (("orders.create", "orders"), ("menus.update", "menus"))[number % 4 == 3]
            deliveries.execute(
                "insert into deliveries (received_at, topic, kind, id, bytes) values (?, ?, ?, ?, 2)",
                (micros(at), topic, kind, 500 + number // 2 if number % 5 == 4 else number % 17 or None),
            )
    deliveries.close()
    at = CLOSED_AT - dt.timedelta(days=3)
    counted = [
        Counted("order", "status", "200", 9, 1, 1, at, at + dt.timedelta(hours=1)),
        Counted("order", "status", "404", 2, None, None, at, at),
        *(
            Counted("menu", "duration_ms", bound, n, 1.5, 20, at + dt.timedelta(days=1), at + dt.timedelta(days=1))
            for bound, n in (("10", 30), ("20", 9), ("50", 2))
        ),
    ]
    keep_behaviour(data, counted)
    for number, (part, wrong) in enumerate((("orders", 0), ("day", 2), ("all", 0), ("orders", 1)), 1):
        append_verification(
            data,
            ComparedPart(
                number,
                at + dt.timedelta(hours=number),
                part,
                order_count=10 * number,
                table_count=5,
                difference_count=wrong,
                duration_ms=100,
                first_order_id=1 if part == "orders" else None,
                last_order_id=40 if part == "orders" else None,
                business_date=dt.date(2026, 10, 23) if part == "day" else None,
                first_difference="core.orders" if wrong else None,
                release_id=None,
            ),
        )
