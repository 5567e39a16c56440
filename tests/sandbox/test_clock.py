"""The world has a time: documents are shown as they stood then."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

pytestmark = pytest.mark.slow

ROOT = "/v1/partner_developers"
FINAL = {"delivered", "picked_up", "cancelled", "rejected"}
STATUSES = ["pending", "accepted", "preparing", "ready", "on_the_way", *sorted(FINAL)]  # of an unfaulted order
WORLD = World(Config(orders=1500))


def read(body: bytes | None) -> Any:
    """Return a body's document, exact."""
    assert body is not None
    return json.loads(body, parse_float=Decimal)


def moments(order_id: int) -> list[dt.datetime]:
    """Return every moment at which something happens to an order."""
    plan = WORLD.plan(order_id)
    steps = [moment for moment, _ in plan.course.steps]
    steps += [moment for delivery in plan.course.deliveries for moment, _ in delivery.steps]
    steps += [amendment.moment for amendment in plan.amendments]
    return [dt.datetime.fromtimestamp(moment, dt.UTC) for moment in sorted(steps)]


def test_an_order_is_not_there_before_it_is_placed() -> None:
    """A second before its creation there is no such order, and from then on there is."""
    order_id = WORLD.order_ids[700]
    created = WORLD.created(order_id)
    assert WORLD.order(order_id, created - dt.timedelta(seconds=1)) is None
    assert read(WORLD.order(order_id, created))["status"] == "pending"


def test_statuses_move_on_to_a_final_one() -> None:
    """Every order goes forward through known statuses, and ends in a final one before the world does."""
    seen: Counter[str] = Counter()
    for order_id in WORLD.order_ids[:400]:
        course = [read(WORLD.order(order_id, moment))["status"] for moment in moments(order_id)]
        order = [STATUSES.index(status) for status in course]
        assert order == sorted(order)
        assert course[0] == "pending"
        assert course[-1] in FINAL
        assert moments(order_id)[-1] < WORLD.end
        assert WORLD.order(order_id, moments(order_id)[-1]) == WORLD.order(order_id)
        seen.update(set(course))
    assert seen.keys() == set(STATUSES)


def test_some_orders_change_after_they_ended() -> None:
    """A tip is changed or a line taken off later; the sums follow, and a removed line stays removed."""
    kinds: Counter[str] = Counter()
    for order_id in WORLD.order_ids:
        plan = WORLD.plan(order_id)
        for amendment in plan.amendments:
            moment = dt.datetime.fromtimestamp(amendment.moment, dt.UTC)
            before = read(WORLD.order(order_id, moment - dt.timedelta(seconds=1)))
            after = read(WORLD.order(order_id, moment))
            assert before["status"] in FINAL
            lost = len(before["items"]) - len(after["items"])
            assert lost == (0 if amendment.removed_line is None else 1)
            assert [line for line in before["items"] if line in after["items"]] == after["items"]
            sums = [(order["subtotal_price"] + order["tip"], order["total_price"]) for order in (before, after)]
            assert sums[1][0] - sums[0][0] == sums[1][1] - sums[0][1]
            kinds["line" if lost else "tip" if before["tip"] != after["tip"] else "nothing"] += 1
    assert kinds["line"] > 5
    assert kinds["tip"] > 5


def test_menu_prices_change_over_the_days() -> None:
    """Between two changes a menu keeps its bytes; at each some of it is different; its ids never are."""
    menu = WORLD.menus[500]
    assert len(menu.changes) >= 2
    for change in menu.changes:
        moment = dt.datetime.fromtimestamp(change, dt.UTC)
        before, after = (WORLD.menu(500, moment - dt.timedelta(seconds=1)), WORLD.menu(500, moment))
        assert before != after
        assert WORLD.menu(500, moment + dt.timedelta(hours=20)) == after
        assert read(before)["products"].keys() == read(after)["products"].keys()
    prices = [
        {entry["price_id"]: entry["price"] for group in read(body)["menu"]["price_groups"] for entry in group["prices"]}
        for body in (WORLD.menu(500, WORLD.start), WORLD.menu(500))
    ]
    assert prices[0].keys() == prices[1].keys()
    assert prices[0] != prices[1]


def test_an_order_has_the_prices_of_its_time() -> None:
    """A line's price is one of those that the store's menus showed for the product when the order was placed."""
    for order_id in WORLD.order_ids[::10]:
        order, created = read(WORLD.order(order_id)), WORLD.created(order_id)
        column = "price" if order["dispatch_method"] == "pick_up" else "delivery_price"
        offered = set()
        for menu_id in read(WORLD.store(order["store_id"]))["menu_ids"]:
            groups = read(WORLD.menu(menu_id, created))["menu"]["price_groups"]
            offered |= {(entry["product_id"], entry[column]) for group in groups for entry in group["prices"]}
        assert {(line["product_id"], line["price"]) for line in order["items"]} <= offered


def test_a_store_is_renamed() -> None:
    """A store's name changes while its id stays."""
    names = [{read(WORLD.store(store_id, at))["name"] for store_id in WORLD.store_ids} for at in (WORLD.start, None)]
    assert names[0] != names[1]
    assert len(names[0]) == len(names[1])


@pytest.fixture
def moved(enter: Callable[[str], httpx.Client]) -> Iterator[httpx.Client]:
    """A client of a stand-in whose clock may be moved."""
    with Sandbox(orders=1500) as running, enter(running.base_url) as client:
        yield client


def test_the_server_has_a_clock_that_can_be_moved(moved: httpx.Client) -> None:
    """It stands at the end of the world at first; moved, everything is shown as it stood then."""
    order_id, menu = WORLD.order_ids[-1], WORLD.menus[500]
    clock = moved.get("/_sandbox/clock").json()
    assert dt.datetime.fromisoformat(clock["now"]) == dt.datetime.fromisoformat(clock["end"]) == WORLD.end
    change = dt.datetime.fromtimestamp(menu.changes[0], dt.UTC)
    for moment in (WORLD.created(order_id), change, change - dt.timedelta(seconds=1), WORLD.start, WORLD.end):
        answer = moved.post("/_sandbox/clock", json={"now": moment.isoformat()})
        assert dt.datetime.fromisoformat(answer.json()["now"]) == moment
        assert moved.get(f"{ROOT}/menus/500").content == WORLD.menu(500, moment)
        assert moved.get(f"{ROOT}/stores").content == WORLD.store_list(moment)
        order = WORLD.order(order_id, moment)
        answer = moved.get(f"{ROOT}/orders/{order_id}")
        assert (answer.status_code, answer.content) == ((200, order) if order else (404, answer.content))


@pytest.mark.parametrize("body", [b"", b"{}", b'{"now": 5}', b'{"now": "soon"}'])
def test_a_time_that_is_none_is_refused(client: httpx.Client, body: bytes) -> None:
    """The clock is not moved by a text that is no time."""
    before = client.get("/_sandbox/clock").json()
    assert client.post("/_sandbox/clock", content=body).status_code == 400
    assert client.get("/_sandbox/clock").json() == before
