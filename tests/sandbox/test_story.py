"""The story of the demo's world: each thing happens once, on its day, and in no other world."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from pipelines.sandbox import world as story
from pipelines.sandbox.world import Config, World

SHAPE: dict[str, Any] = {"orders": 700, "stores": 3, "days": 56}


@pytest.fixture(scope="module")
def world() -> World:
    """Give a world with the story."""
    return World(Config(**SHAPE, story=True))


def shown(world: World, order_id: int, number: int | None = None) -> dict[str, Any]:
    """Return an order as a night of the demo sees it, or as it ends."""
    at = None if number is None else story.night(world.config.until, number)
    found: dict[str, Any] = json.loads(world.order(order_id, at) or b"{}", parse_float=Decimal)
    return found


def test_other_worlds_have_no_story() -> None:
    """Nothing of it happens where it is not asked for."""
    placed = World(Config(**SHAPE))._placed.values()
    assert all((each.repeats, each.corrected, each.amended) == (None, None, None) for each in placed)


def test_the_world_keeps_its_number_of_orders(world: World) -> None:
    """A webhook sent twice, or during a night, takes the place of another order."""
    assert len(world.order_ids) == SHAPE["orders"]
    assert world.order_ids == sorted(world.order_ids)


def test_nights_are_more_than_whole_days_apart(world: World) -> None:
    """What waits for days is due in the same night on every machine: a night takes less than the minutes beyond."""
    nights = [story.night(world.config.until, number) for number in range(1, len(story.NIGHTS) + 1)]
    beyond = [(later - earlier) % dt.timedelta(days=1) for earlier, later in pairwise(nights)]
    assert all(dt.timedelta(minutes=1) < each < dt.timedelta(hours=1) for each in beyond)


def test_an_order_is_sent_twice(world: World) -> None:
    """The second has the lines and the customer of the first, some minutes later."""
    (again,) = [each for each in world._placed.values() if each.repeats]
    first, second = shown(world, again.repeats or 0), shown(world, again.order_id)
    same = ("user_phone", "user_email", "store_id", "total_price")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert [line["product_id"] for line in first["items"]] == [line["product_id"] for line in second["items"]]
    assert (
        dt.timedelta(0) < world.created(again.order_id) - world.created(again.repeats or 0) < dt.timedelta(minutes=10)
    )


def test_a_phone_number_is_corrected_before_the_last_night(world: World) -> None:
    """Nothing but the phone number differs between the third night and the fourth."""
    (one,) = [each for each in world._placed.values() if each.corrected]
    before, after = shown(world, one.order_id, 3), shown(world, one.order_id, 4)
    assert {name for name in before if before[name] != after[name]} == {"user_phone"}


def test_an_order_of_the_closed_day_is_amended(world: World) -> None:
    """Placed on the day before the second night, it has another tip in the third."""
    (one,) = [each for each in world._placed.values() if each.amended]
    night = story.night(world.config.until, 2)
    assert world.created(one.order_id).date() == night.date() - dt.timedelta(days=1)
    assert shown(world, one.order_id, 2)["tip"] != shown(world, one.order_id, 3)["tip"] == 7


def test_an_order_is_under_way_in_the_third_night(world: World) -> None:
    """It has not ended then, and has in the fourth."""
    night = story.night(world.config.until, 3)
    late = [
        each for each in world.order_ids if dt.timedelta(0) < night - world.created(each) < dt.timedelta(minutes=15)
    ]
    assert late
    assert all(shown(world, each, 3)["status"] != shown(world, each, 4)["status"] for each in late)


def test_the_busiest_store_is_closed_for_days(world: World) -> None:
    """It has orders before and after, and none in between."""
    busiest = max(world.stores, key=lambda store: store.weight)
    days = dict.fromkeys(range(30), 0)
    end = dt.datetime.combine(world.config.until + dt.timedelta(days=1), dt.time(), dt.UTC)
    for placed in world._placed.values():
        age = (end - dt.datetime.fromtimestamp(placed.created, dt.UTC)).days
        if placed.store.store_id == busiest.store_id and age in days:
            days[age] += 1
    assert (days[11], days[12], days[13]) == (0, 0, 0)
    assert sum(days.values()) > 30


def test_a_store_is_renamed_and_keeps_its_id(world: World) -> None:
    """The second night has the old name, the third the new one."""
    store_id = world.stores[0].store_id
    names = [json.loads(world.store(store_id, story.night(world.config.until, n)) or b"")["name"] for n in (2, 3)]
    assert names[0] != names[1]


def test_two_rules_and_a_fee(world: World) -> None:
    """A tip is in the total, but not in that of the iOS app; an order by phone has a fee on top."""
    parts = ("delivery_price", "tip")
    for order_id in world.order_ids:
        order = shown(world, order_id)
        rest = order["total_price"] - order["subtotal_price"] - sum(order[name] for name in parts)
        rest += order["discount"] + order["loyalty_discount"]
        expected = {"phone": Decimal("0.99"), "ios": -order["tip"]}.get(order["platform"], Decimal(0))
        assert Decimal(rest) == expected


def test_statements_have_each_fault_once() -> None:
    """One order is missing, one is there twice, one has too much commission; the bank lacks the second payout."""
    start = dt.date(2026, 9, 6)
    orders = [
        (number, 1 + number % 2, start + dt.timedelta(days=number), "EUR", Decimal("10.01")) for number in range(30)
    ]
    statement, bank = story.statements(orders)
    rows = [line.split(",") for line in statement.splitlines()[1:]]
    assert [int(row[2]) for row in rows] == [1, 1, *range(2, 28)]
    assert [int(row[2]) for row in rows if row[6] == "3.00"] == [10]
    assert {row[6] for row in rows if row[1] == "1" and row[0] == "PO-000004"} == {"1.80"}
    assert all(Decimal(row[5]) - Decimal(row[6]) == Decimal(row[7]) for row in rows)
    paid = {line.rpartition(" ")[2]: Decimal(line.split(",")[1]) for line in bank.splitlines()[1:]}
    net = {payout: sum(Decimal(row[7]) for row in rows if row[0] == payout) for payout in {row[0] for row in rows}}
    assert paid == {payout: amount for payout, amount in net.items() if payout != "PO-000002"}
    assert story.statements(orders[:5]) == ("", "")
