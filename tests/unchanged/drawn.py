"""Draw the documents of the world whose rows are hashed: the same ones each time, and as various as they come."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

from tests.warehouse.conftest import menu, store

Document = dict[str, Any]
Verdict = dict[str, Any]

ORDERS = range(1, 141)
FIRST_DAY = dt.datetime(2026, 10, 22, tzinfo=dt.UTC)
DAYS = 14  # on which orders are created; Berlin's clocks change on the fourth
TURNS = {46: "2026-10-25T01:00:00Z", 55: "2026-10-25T00:30:00Z", 57: "2026-10-24T23:00:00Z"}
AMOUNTS = ("0", "0", "1", "2.50", "0.75", "3.333")
# Of the products of the menus, one that none has, and none.
PRODUCTS = (100, 101, 102, 103, 104, 999, None)
MODIFIERS = (201, 202, 203, 998)
NAMES = {100: "Soup", 101: "Bread", 102: "Stew", 103: "Broth", 104: "Tea", 999: "Ghost", None: "Nothing"}


def stores() -> list[Document]:
    """Return stores of four currencies and time zones, one of which nobody knows."""
    return [
        store(1, name="North", menu_ids=[1, 2]),
        store(2, name="South", timezone="America/Lima", currency="PEN", menu_ids=[2]),
        store(3, name=None, timezone="Asia/Kuwait", currency="KWD", menu_ids=[3, 3]),
        store(4, name="North", timezone="Nowhere", currency=None, menu_ids=[]),
        store(5, name="East", timezone="Asia/Tokyo", currency="JPY", menu_ids=[7]),
        store(6, name="Idle", menu_ids=[1], _unknown={"/opening": "object"}),
    ]


def menus(prices: tuple[str, str, str]) -> list[Document]:
    """Return menus with several groups, channels and prices; `prices` are those of three products."""
    lunch, dinner, late = menu(1, (100, 101, 102)), menu(2, (101, 102, 103)), menu(3, (103, 104, 103))
    for document, price in zip((lunch, dinner, late), prices, strict=True):
        group = document["menu"]["price_groups"][0]
        group["prices"][0] |= {"price": price, "channel": "pick_up", "delivery_price": None}
        group["prices"][1] |= {"channel": "delivery", "price": None}
        group["prices"][2] |= {"price_id": 900 + document["menu"]["id"], "price": "4"}
        document["menu"]["price_groups"].append(
            {"id": 2, "name": "Extra", "position": 0, "prices": [group["prices"][0] | {"price_id": 77, "position": 9}]}
        )
    lunch["_unknown"] = {"/menu/season": "string"}
    lunch["products"]["100"]["modifiers"].append({"modifier_id": 203, "position": 2, "price": None})
    lunch["products"]["101"] |= {"name": "Bread", "description": "warm", "dispatch_method": "pick_up"}
    dinner["products"]["102"] |= {"name": "Another stew", "modifiers": []}
    lunch["modifiers"]["203"] = {
        "name": "Extra",
        "description": "",
        "children": [{"modifier_id": 201, "position": 1, "price": "0.5"}],
    }
    late["products"]["105"] = {"name": "Unpriced", "description": None, "dispatch_method": None, "modifiers": []}
    return [lunch, dinner, late]


def orders(rng: random.Random) -> list[Verdict]:
    """Return a verdict about each order; most add up by one rule, others by another or by none."""
    return [_verdict(rng, order_id) for order_id in ORDERS]


def changed(rng: random.Random, before: list[Verdict]) -> list[Verdict]:
    """Return verdicts that change some of the orders: one thing each, or several."""
    found = []
    for each in before:
        if "document" not in each or rng.random() > 0.35:
            continue
        document = {**each["document"], "items": [dict(item) for item in each["document"]["items"] or []]}
        for change in rng.sample(CHANGES, rng.choice([1, 1, 2])):
            change(rng, document)
        found.append({**each, "document": document, "personal": rng.choice([[], [], ["user_name", "user_phone"]])})
    return found


def regular_orders() -> list[Verdict]:
    """Return the orders of a store that has three every Monday, until it has none any more."""
    found = []
    for number in range(24):
        created = dt.datetime(2026, 8, 17, 10, tzinfo=dt.UTC) + dt.timedelta(weeks=number // 3, hours=number % 3)
        document = _order(random.Random(number % 3), 300 + number, created) | {"store_id": 6}
        found.append({"id": 300 + number, "at": -900, "document": document, "customer": f"r{number % 5}"})
    return found


def _verdict(rng: random.Random, order_id: int) -> Verdict:
    if order_id % 35 == 0:
        return {"id": order_id, "verdict": "quarantined", "reason": "wrong_type", "pointer": "/items/0/price"}
    if order_id % 47 == 0:
        return {"id": order_id, "verdict": rng.choice(["missing", "failed"]), "reason": "timeout"}
    created = FIRST_DAY + dt.timedelta(days=rng.randrange(DAYS), minutes=rng.choice([0, 1, 719, rng.randrange(1440)]))
    is_twin = order_id % 9 < 2  # of the order before or after, some minutes earlier, with the same lines
    if is_twin:
        rng.seed(f"twins {order_id // 9}")
        created = FIRST_DAY + dt.timedelta(days=order_id // 9 % 5, minutes=600 + order_id % 9 * (order_id % 5 * 10))
    document = _order(rng, order_id, created)
    rng.seed(order_id)
    if order_id in TURNS:  # clocks change then, or between creation and pick-up
        document |= {"store_id": 1, "created_at": TURNS[order_id], "promised_pick_up_time": "2026-10-25T01:00:00Z"}
    if order_id % 43 == 0:
        document["_unknown"] = {"/loyalty/points": "number", "/items/*/spice": "string|null"}
    return {
        "id": order_id,
        "at": rng.choice([20, 50, 95, 96, 97, 98]),
        "document": document,
        "customer": "twin" if is_twin else rng.choice(["a", "b", "c", "d", None]),
        "absences": rng.choice([[], [], ["/tip", "/items/*/name"]]),
    }


def _order(rng: random.Random, order_id: int, created: dt.datetime) -> Document:
    digits = {3: 3, 5: 0}.get(store_id := rng.choice([1, 1, 1, 2, 2, 3, 4, 5, 9, None]), 2)
    items = [_item(rng, order_id, number) for number in range(rng.choice([1, 1, 2, 3]))]
    platform = rng.choice(["web", "web", "ios", "kiosk", None])
    by_quantity = platform != "kiosk"
    amounts = [_line_amount(item, by_quantity=by_quantity) for item in items]
    subtotal = sum(amounts, Decimal(0)).quantize(Decimal(1).scaleb(-digits)) + (order_id % 29 == 0)
    parts = {name: rng.choice(AMOUNTS) for name in ("delivery_price", "tip", "discount", "loyalty_discount")}
    signs = {"delivery_price": 1, "tip": 0 if platform == "ios" else 1, "discount": -1, "loyalty_discount": -1}
    total = subtotal + sum(sign * Decimal(parts[name]) for name, sign in signs.items()) + (order_id % 31 == 0)
    document: Document = {
        "id": order_id,
        "has_user_phone": rng.choice([True, False]),
        "has_dispatch_note": rng.choice([True, False, None]),
        "dispatch_method": rng.choice(["store_delivery", "pick_up", None]),
        "store_id": store_id,
        "status": rng.choice(["done", "done", "ready", "refused", "new", None]),
        "platform": platform,
        "requested_time": _text(created + dt.timedelta(minutes=rng.choice([0, 30, 1500]))),
        "promised_pick_up_time": rng.choice([None, _text(created + dt.timedelta(minutes=45))]),
        "promised_delivery_time": rng.choice([None, _text(created + dt.timedelta(minutes=90))]),
        "created_at": _text(created),
        "subtotal_price": str(subtotal),
        **parts,
        "total_price": str(total),
        "items": items,
        "deliveries": [
            {
                "id": 10 * order_id + number,
                "type": rng.choice(["own_delivery", "drone"]),
                "has_confirmation_code": rng.choice([True, False]),
                "status": rng.choice(["confirmed", "done", None]),
            }
            for number in range(rng.choice([0, 1, 1, 2]))
        ],
    }
    nothing = {8: "created_at", 13: "requested_time", 17: "tip", 19: "total_price", 23: "subtotal_price", 37: "items"}
    for divisor, name in nothing.items():
        if order_id % divisor == divisor - 1:
            document[name] = None
    return document


def _item(rng: random.Random, order_id: int, number: int) -> Document:
    product = rng.choice(PRODUCTS)
    return {
        "id": 10 * order_id + number,
        "product_id": product,
        "quantity": rng.choice([1, 1, 1, 2, 3, 0, None]),
        "name": rng.choice([NAMES[product], NAMES[product], "Special"]),
        "has_instructions": rng.choice([True, False]),
        "price": rng.choice(["5.25", "5.25", "4", "6", "7.5", "0", None]),
        "modifiers": [
            {
                "id": rng.choice(MODIFIERS),
                "name": rng.choice(["Size", "Salt"]),
                "price": rng.choice(["1.00", "0", "0.5", None]),
                "action": rng.choice(["add", "add", "remove", None]),
                "quantity": rng.choice([1, 1, 2, None]),
            }
            for _ in range(rng.choice([0, 0, 1, 2]))
        ],
    }


def _line_amount(item: Document, *, by_quantity: bool) -> Decimal:
    """Return what a line comes to: its price and those of its added modifiers, each as often as there are units."""
    price = Decimal(item["price"] or 0)
    for each in item["modifiers"]:
        if each["action"] != "remove":
            price += Decimal(each["price"] or 0) * (1 if each["quantity"] is None else each["quantity"])
    units = 1 if item["quantity"] is None or not by_quantity else item["quantity"]
    return price * units


def _text(time: dt.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _moved(rng: random.Random, document: Document) -> None:
    document["created_at"] = rng.choice(["2026-10-25T00:30:00Z", "2026-10-28T04:59:59Z", "2026-11-02T23:30:00Z", None])


def _priced(rng: random.Random, document: Document) -> None:
    document["tip"] = rng.choice(["0", "4", None])
    document["total_price"] = rng.choice([document["total_price"], "20", None])


def _fewer(_: random.Random, document: Document) -> None:
    document["items"] = document["items"][1:][::-1]


def _more(rng: random.Random, document: Document) -> None:
    document["items"] = [_item(rng, document["id"], 7), *document["items"]]


def _delivered(rng: random.Random, document: Document) -> None:
    document["deliveries"] = rng.choice(
        [[], [{"id": 7, "type": "drone", "has_confirmation_code": False, "status": "lost"}]]
    )


CHANGES = (
    lambda rng, document: document.update(status=rng.choice(["done", "refused", "ready"])),
    lambda rng, document: document.update(store_id=rng.choice([1, 2, 3, None])),
    lambda rng, document: document.update(platform=rng.choice(["web", "tablet"])),
    _moved,
    _priced,
    _fewer,
    _more,
    _delivered,
)
