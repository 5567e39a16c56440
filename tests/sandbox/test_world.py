"""The world: the same for the same seed, and as varied as real restaurants are."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pipelines.sandbox.world import Config, World

REPO = Path(__file__).resolve().parents[2]
WORLD = World(Config(orders=3000))
# The bytes of the small world below; they change only when the world is changed on purpose.
SMALL = "4bbe560e9a72219711bd1ade586f6c006216d8da8a7357541004536effe0a63d"
DIGEST = """
import hashlib
from pipelines.sandbox.world import Config, World
world = World(Config(seed=7, stores=9, orders=200, faults=0.3))
digest = hashlib.sha256(world.store_list())
for menu_id in world.menu_ids:
    digest.update(world.menu(menu_id) + world.menu(menu_id, world.start))
for order_id, settled, body in world.orders():
    digest.update(body + world.order(order_id, world.created(order_id)))
digest.update(repr(world.truth()).encode())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module", name="orders")
def _orders() -> list[dict[str, Any]]:
    return [json.loads(body, parse_float=Decimal) for _, _, body in WORLD.orders()]


@pytest.fixture(scope="module", name="lines")
def _lines(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for order in orders for line in order["items"]]


@pytest.fixture(scope="module", name="menus")
def _menus() -> list[dict[str, Any]]:
    return [json.loads(body, parse_float=Decimal) for body in map(WORLD.menu, WORLD.menu_ids) if body]


@pytest.fixture(scope="module", name="stores")
def _stores() -> list[dict[str, Any]]:
    return json.loads(WORLD.store_list())


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_seed_gives_the_same_bytes(hash_seed: str) -> None:
    """In any process, on any machine and Python version, the bytes are these."""
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    out = subprocess.run([sys.executable, "-c", DIGEST], cwd=REPO, env=environ, capture_output=True, check=True)
    assert out.stdout.decode().strip() == SMALL


def test_another_seed_is_another_world() -> None:
    """Stores, menus and orders all differ."""
    other = World(Config(orders=3000, seed=2))
    assert other.store_list() != WORLD.store_list()
    assert other.menu(500) != WORLD.menu(500)
    assert other.order_ids != WORLD.order_ids


def test_an_order_alone_is_the_order_among_all() -> None:
    """One order asked for is, byte for byte, the one that comes with all."""
    for order_id, _, body in itertools.islice(WORLD.orders(), 0, None, 100):
        assert WORLD.order(order_id) == body


def test_ids_grow_with_time_and_leave_gaps(orders: list[dict[str, Any]]) -> None:
    """Order ids are integers in the order of creation, some numbers are not used."""
    ids, created = [order["id"] for order in orders], [order["created_at"] for order in orders]
    assert len(ids) == 3000
    assert ids == sorted(set(ids))
    assert created == sorted(created)
    assert 0.05 < sum(b - a > 1 for a, b in itertools.pairwise(ids)) / len(ids) < 0.2


def test_documents_have_the_fields_of_the_interface_in_its_order(
    orders: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> None:
    """Orders, lines, modifiers and deliveries have exactly the fields of interface section 2.1."""
    order, line = "id user_phone user_email user_address user_name apartment_details user_latitude user_longitude", "id"
    order += " dispatch_note dispatch_method store_id status platform requested_time promised_delivery_time"
    order += " promised_pick_up_time created_at subtotal_price delivery_price tip discount loyalty_discount total_price"
    line += " product_id quantity name instructions price modifiers"
    assert {" ".join(each) for each in orders} == {f"{order} items deliveries"}
    assert {" ".join(each) for each in lines} == {line}
    assert {" ".join(m) for each in lines for m in each["modifiers"]} == {"id name price action quantity"}
    delivery = "id type confirmation_code status tracking_url"
    assert {" ".join(each) for order in orders for each in order["deliveries"]} == {delivery}


def test_menus_keep_the_rules_of_the_interface(menus: list[dict[str, Any]]) -> None:
    """Rules 1 and 2 of section 2.2 hold, price groups are in the order of their positions, and no price is negative."""
    for menu in menus:
        assert list(menu) == ["menu", "products", "modifiers"]
        groups = menu["menu"]["price_groups"]
        assert [group["position"] for group in groups] == list(range(1, len(groups) + 1))
        assert len(groups) >= 3
        prices = [price for group in groups for price in group["prices"]]
        references = [ref for product in menu["products"].values() for ref in product["modifiers"]]
        references += [ref for modifier in menu["modifiers"].values() for ref in modifier["children"]]
        assert all(str(price["product_id"]) in menu["products"] for price in prices)
        assert all(str(reference["modifier_id"]) in menu["modifiers"] for reference in references)
        assert all(price["price"] > 0 and price["delivery_price"] > 0 for price in prices)
        assert all(product["name"] for product in menu["products"].values())


def depth(menu: dict[str, Any], references: list[dict[str, Any]]) -> int:
    """Return how many modifiers deep these references go."""
    below = (depth(menu, menu["modifiers"][str(ref["modifier_id"])]["children"]) for ref in references)
    return 1 + max(below, default=0) if references else 0


def test_menus_have_what_makes_menus_hard(menus: list[dict[str, Any]]) -> None:
    """Nesting, shared groups, products in two groups and under two menus, prices by channel and by delivery."""
    assert max(depth(menu, product["modifiers"]) for menu in menus for product in menu["products"].values()) >= 6
    channels: Counter[str] = Counter()
    places: dict[int, set[int]] = {}
    differs = 0
    for menu in menus:
        shared = Counter(ref["modifier_id"] for product in menu["products"].values() for ref in product["modifiers"])
        assert max(shared.values()) > 1
        prices = [price for group in menu["menu"]["price_groups"] for price in group["prices"]]
        channels.update(price["channel"] for price in prices)
        differs += sum(price["price"] != price["delivery_price"] for price in prices)
        for price in prices:
            places.setdefault(price["product_id"], set()).add(menu["menu"]["id"])
    main = menus[0]["menu"]["price_groups"]
    assert max(Counter(price["product_id"] for group in main for price in group["prices"]).values()) > 1
    assert channels.keys() == {"both", "pick_up", "delivery"}
    assert 0.2 < differs / channels.total() < 0.9
    assert max(map(len, places.values())) == 2
    options: dict[int, set[Decimal]] = {}
    for menu in menus:
        for modifier in menu["modifiers"].values():
            for reference in modifier["children"]:
                options.setdefault(reference["modifier_id"], set()).add(reference["price"])
    assert any(price > 0 for prices in options.values() for price in prices)


def test_one_store_alone_has_a_product_under_two_menus() -> None:
    """The smallest world is a whole one."""
    world = World(Config(stores=1, orders=20))
    one, two = (json.loads(world.menu(menu_id) or b"") for menu_id in world.menu_ids)
    assert one["products"].keys() & two["products"].keys()
    assert len(list(world.orders())) == 20


def test_stores_differ_in_timezone_and_share_a_currency(stores: list[dict[str, Any]]) -> None:
    """Several timezones, with and without daylight saving time; one currency; addresses and phones in the record."""
    zones = {store["timezone"] for store in stores}
    offsets = [{ZoneInfo(zone).utcoffset(dt.datetime(2026, month, 1)) for month in (1, 7)} for zone in zones]  # noqa: DTZ001
    assert len(zones) >= 10
    assert {len(pair) for pair in offsets} == {1, 2}
    assert {store["currency"] for store in stores} == {"EUR"}
    assert all(store["phone"] and store["address"]["street"] for store in stores)
    assert max(Counter(menu_id for store in stores for menu_id in store["menu_ids"]).values()) > 1


def test_customers_come_back(orders: list[dict[str, Any]]) -> None:
    """Customers are a quarter of the orders or so; some come often, some leave out how to reach them."""
    people = Counter(
        order["user_name"] + order["user_phone"].replace(" ", "") for order in orders if order["user_phone"]
    )
    assert 0.1 < len(people) / len(orders) < 0.35
    assert people.most_common(1)[0][1] >= 10
    missing = Counter((bool(order["user_phone"]), bool(order["user_email"])) for order in orders)
    assert len(missing) == 4
    spellings: dict[str, set[str]] = {}
    for order in orders:
        spellings.setdefault(order["user_email"].lower(), set()).add(order["user_email"])
    assert max(map(len, spellings.values())) > 1


def test_people_order_at_lunch_and_at_dinner(orders: list[dict[str, Any]], stores: list[dict[str, Any]]) -> None:
    """In the store's time zone most orders come at lunch and dinner, some after midnight, more at the week's end."""
    zone = {store["id"]: ZoneInfo(store["timezone"]) for store in stores}
    local = [dt.datetime.fromisoformat(o["created_at"]).astimezone(zone[o["store_id"]]) for o in orders]
    hours = Counter(time.hour for time in local)
    lunch, dinner = (sum(hours[hour] for hour in span) / len(local) for span in (range(11, 15), range(17, 23)))
    assert 0.3 < lunch < 0.5
    assert 0.4 < dinner < 0.65
    assert 0 < sum(hours[hour] for hour in range(5)) / len(local) < 0.05
    assert min(local).date() == dt.date(2026, 10, 4)
    assert max(local).date() in (dt.date(2026, 10, 31), dt.date(2026, 11, 1))
    days = Counter(time.weekday() for time in local)
    assert days[4] > days[0]
    assert days[5] > days[0]


def test_the_hour_that_comes_twice_has_orders_in_both() -> None:
    """In the night when the clocks go back, orders come in the first and in the second such hour."""
    world = World(Config(seed=2, stores=1, orders=2000, days=1, until=dt.date(2026, 10, 24)))
    assert world.stores[0].town.timezone == "Europe/Berlin"
    hours = Counter(world.created(order_id).replace(minute=0, second=0) for order_id in world.order_ids)
    assert hours[dt.datetime(2026, 10, 25, 0, tzinfo=dt.UTC)] > 0
    assert hours[dt.datetime(2026, 10, 25, 1, tzinfo=dt.UTC)] > 0


def test_orders_are_as_varied_as_real_ones(orders: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    """Quantities, repeated modifiers, free text, discounts, loyalty, tips, deliveries, pick-ups and cancelled ones."""
    modifiers = [m for line in lines for m in line["modifiers"]]
    shares = {
        "quantity": sum(line["quantity"] > 1 for line in lines) / len(lines),
        "repeated": sum(len({m["id"] for m in li["modifiers"]}) < len(li["modifiers"]) for li in lines) / len(lines),
        "modifier quantity": sum(m["quantity"] > 1 for m in modifiers) / len(modifiers),
        "removed": sum(m["action"] == "remove" for m in modifiers) / len(modifiers),
        "instructions": sum(bool(line["instructions"]) for line in lines) / len(lines),
        "note": sum(bool(order["dispatch_note"]) for order in orders) / len(orders),
        "discount": sum(order["discount"] > 0 for order in orders) / len(orders),
        "loyalty": sum(order["loyalty_discount"] > 0 for order in orders) / len(orders),
        "tip": sum(order["tip"] > 0 for order in orders) / len(orders),
        "pick-up": sum(order["promised_pick_up_time"] is not None for order in orders) / len(orders),
        "ahead": sum(order["requested_time"] > order["created_at"] for order in orders) / len(orders),
        "cancelled": sum(order["status"] == "cancelled" for order in orders) / len(orders),
    }
    assert {name: share for name, share in shares.items() if not 0.005 < share < 0.6} == {}
    assert {len(order["deliveries"]) for order in orders} == {0, 1, 2}
    assert {order["dispatch_method"] == "pick_up" for order in orders if order["promised_pick_up_time"]} == {True}
    assert any(not text.isascii() for order in orders for text in (order["user_name"], order["dispatch_note"]))
    # Figures of the measurements in the design: 3.2 lines and 4.8 modifiers an order, 1.58 kB.
    assert 2.8 < len(lines) / len(orders) < 3.6
    assert 4 < len(modifiers) / len(orders) < 5.6
    assert 1200 < sum(len(body) for _, _, body in WORLD.orders()) / len(orders) < 1900


def test_figures_that_make_no_world_are_refused() -> None:
    """A world needs a store and a day."""
    for config in (Config(stores=0), Config(days=0), Config(orders=-1)):
        with pytest.raises(ValueError, match="a world needs"):
            World(config)
