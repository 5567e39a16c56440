"""Promise 3: core, mart and audit are the same row for row after any increments as after one rebuild from raw."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HOURS = st.one_of(st.none(), st.integers(0, 72))
# Few documents, so that versions come back, go on and are seen again.
FEW: list[dict[str, Any]] = [
    {"status": "preparing"},
    {"status": "done", "created_at": "2026-11-02T11:00:00+01:00", "tip": "0.00010"},
    {"status": "done", "product": 101, "total_price": "14", "has_user_phone": None},
    {"bare": True, "deliveries": None},
    {"deliveries": [{"id": 7, "status": "done"}, {"id": 8, "status": "confirmed"}], "has_dispatch_note": True},
    {"platform": "kiosk", "action": "swap", "deliveries": [{"id": 7, "type": "drone", "status": "done"}]},
]


@st.composite
def orders(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one observation of an order."""
    at = draw(HOURS)
    verdict = draw(st.sampled_from(["accepted", "accepted", "accepted", "missing", "quarantined"]))
    usual = {"store_id": 1, "product": 100, "bare": False, "unpriced": False, "subtotal_price": "18.50"}
    fields: dict[str, Any] = usual | draw(st.sampled_from(FEW))
    rare: dict[str, Any] = {
        "store_id": draw(st.sampled_from([1, 2, 3, None])),
        "status": draw(st.sampled_from(["preparing", "done", None])),
        "created_at": draw(
            st.sampled_from(["2026-10-31T23:30:00Z", "2026-11-01T10:00:00Z", "2026-11-02T10:00:00+01:00", None])
        ),
        "product": draw(st.sampled_from([100, 101, 102, None])),
        "bare": draw(st.booleans()),
        "subtotal_price": draw(st.sampled_from(["12.50", "18.50", "18.50", "7.25"])),
        "loyalty_discount": draw(st.sampled_from(["0.5", "0.5", None])),
        "total_price": draw(st.sampled_from(["13.0001", "19.0001", "19.0001", "14", None])),
        "unpriced": draw(st.booleans()),
    }
    return {
        "kind": "orders",
        "id": draw(st.integers(1, 3)),
        "at": at,
        "verdict": verdict,
        "customer": draw(st.sampled_from(["a", "b", None])),
        "personal": draw(st.sampled_from([[], ["user_name", "items/*/instructions"]])),
        "fields": draw(st.sampled_from([fields, fields, rare])),
    }


@st.composite
def menus(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one observation of a menu."""
    products = draw(st.lists(st.sampled_from([100, 101, 102]), max_size=3, unique=True))
    price = draw(st.sampled_from(["5.25", "6"]))
    return {"kind": "menus", "id": draw(st.integers(1, 2)), "at": draw(HOURS), "products": products, "price": price}


@st.composite
def stores(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one observation of a store."""
    fields = {
        "name": draw(st.sampled_from(["North", "South", None])),
        "timezone": draw(st.sampled_from(["Europe/Berlin", "America/Lima", "Nowhere", None])),
        "menu_ids": draw(st.sampled_from([[], [1], [1, 2], [2, 2]])),
    }
    return {"kind": "stores", "id": draw(st.integers(1, 3)), "at": draw(HOURS), "fields": fields}


LOADS = st.lists(
    st.one_of(
        st.lists(orders(), min_size=1, max_size=5),
        st.lists(menus(), min_size=1, max_size=2),
        st.lists(stores(), min_size=1, max_size=3),
    ),
    min_size=2,
    max_size=7,
)


def _prove(world_of: Any, makers: Any, loads: list[list[dict[str, Any]]], order: list[int], pauses: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # A rule is named as soon as one order tells: rules come and go with every load.
        world = world_of(
            Path(folder),
            ORDERMART_FORMULA__MIN_DISTINGUISHING_ORDERS="1",
            ORDERMART_FORMULA__MAX_VIOLATION_RATE="0.3",
            ORDERMART_WAREHOUSE__THREADS="2",
        )
        increments = 0
        for n, which in enumerate(order):
            if which < len(loads):
                _land(world, makers, which, loads[which])
            if n in pauses:
                increments += not world.build().full
        increments += not world.build().full
        before = world.contents()
        assert world.build(full=True).full
        after = world.contents()
        for table, rows in after.items():
            assert before[table] == rows, f"{table} after {increments} increments"


def _land(world: Any, makers: Any, number: int, load: list[dict[str, Any]]) -> None:
    make_order, make_menu, make_store = makers
    verdicts = []
    for each in load:
        verdict: dict[str, Any] = {"id": each["id"], "at": each["at"], "verdict": each.get("verdict", "accepted")}
        if verdict["verdict"] == "quarantined":
            verdict |= {"reason": "wrong_type", "pointer": "/items/0/price"}
        elif verdict["verdict"] == "accepted":
            verdict |= {"customer": each.get("customer"), "personal": each.get("personal", [])}
            if each["kind"] == "orders":
                verdict["document"] = _order(make_order, each["id"], **each["fields"])
            elif each["kind"] == "menus":
                verdict["document"] = make_menu(each["id"], each["products"], p100=each["price"])
            else:
                verdict["document"] = make_store(each["id"], **each["fields"])
        verdicts.append(verdict)
    archive = all(each["at"] is None for each in load)
    # The name of a load follows its number, not the order of landing.
    world.land(load[0]["kind"], verdicts, "archive" if archive else "live", load_id=f"20261101T{number:012d}-abcdef")


def _order(
    make_order: Any,
    order_id: int,
    *,
    product: int | None,
    bare: bool,
    unpriced: bool = True,
    action: str = "add",
    **fields: Any,
) -> dict[str, Any]:
    document: dict[str, Any] = make_order(order_id, **fields)
    if bare:
        document |= {"items": None, "deliveries": fields.get("deliveries", [])}
    else:
        document["items"][0]["product_id"] = product
        document["items"][0]["modifiers"][0]["action"] = action
        if not unpriced:  # all that a subtotal rule asks for is stated
            document["items"][1]["modifiers"] = []
    return document


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(LOADS, st.permutations(range(7)), st.sets(st.integers(0, 6), max_size=4))
def test_a_few_histories(
    world_of: Any, makers: Any, loads: list[list[dict[str, Any]]], order: list[int], pauses: set[int]
) -> None:
    """Increments, in any order and partition, give what a rebuild gives."""
    _prove(world_of, makers, loads, order, pauses)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(LOADS, st.permutations(range(7)), st.sets(st.integers(0, 6), max_size=4))
def test_many_histories(
    world_of: Any, makers: Any, loads: list[list[dict[str, Any]]], order: list[int], pauses: set[int]
) -> None:
    """The same, for long."""
    _prove(world_of, makers, loads, order, pauses)
