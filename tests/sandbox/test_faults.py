"""Every kind of fault: in the truth, in the served documents, and nowhere else."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pipelines.sandbox.faults import PLANTERS, Fault
from pipelines.sandbox.world import Config, World

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

BROKEN_TEXT = {"nan", "duplicate_key", "truncated", "invalid_utf8"}
PLAIN = msgspec.json.Encoder(decimal_format="number")
FAULTY = World(Config(orders=3000, stores=40, faults=0.5))
CLEAN = World(Config(orders=3000, stores=40))
TRUTH = FAULTY.truth()
PRODUCTS = {str(product) for menu in FAULTY.menus.values() for product in menu.products}
MODIFIERS = {str(modifier) for menu in FAULTY.menus.values() for modifier in menu.modifiers}


def served(world: World, fault: Fault) -> bytes:
    """Return the body that a world has for the id of a fault."""
    body = (world.order if fault.kind == "orders" else world.menu)(fault.id)
    assert body is not None
    return body


def strictly(body: bytes) -> Any:
    """Read JSON, refusing what JSON does not have."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError("duplicate key")
        return dict(pairs)

    def never(name: str) -> Any:
        raise ValueError(f"constant {name}")

    return json.loads(body.decode(), parse_float=Decimal, parse_constant=never, object_pairs_hook=once)


def at(document: Any, pointer: str) -> Any:
    """Return what a pointer names, or the word absent."""
    for part in pointer.split("/")[1:]:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError):
            return "absent"
    return document


def differences(old: Any, new: Any, pointer: str = "") -> set[str]:
    """Return the pointers at which two documents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = old.keys() | new.keys()
        found = [differences(old.get(key, "absent"), new.get(key, "absent"), f"{pointer}/{key}") for key in keys]
        return set().union(*found) if found else set()
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found = [differences(*pair, f"{pointer}/{number}") for number, pair in enumerate(zip(old, new, strict=True))]
        return set().union(*found) if found else set()
    return set() if old == new and type(old) is type(new) else {pointer}


def of_kind(kind: str, fault: str) -> list[Fault]:
    """Return the faults of a kind, of which there is one at least."""
    found = [entry for entry in TRUTH if (entry.kind, entry.fault) == (kind, fault)]
    assert found
    return found


def test_the_share_is_that_of_the_flag() -> None:
    """A share of documents has one fault each, the kinds taking turns; any share above 0 makes one fault."""
    orders = Counter(entry.fault for entry in TRUTH if entry.kind == "orders")
    assert orders.total() == 1500
    assert set(orders.values()) == {100}
    assert {entry.fault for entry in TRUTH if entry.kind == "menus"} == PLANTERS["menus"].keys()
    assert len({(entry.kind, entry.id) for entry in TRUTH}) == len(TRUTH)
    assert len(World(Config(orders=10, stores=2, faults=0.0001)).truth()) == 2
    assert CLEAN.truth() == []


def test_documents_without_a_fault_are_whole() -> None:
    """A document that the truth does not list is strict JSON, with null only where the interface says so."""
    faulty = {(entry.kind, entry.id) for entry in TRUTH}
    for order_id in FAULTY.order_ids:
        if ("orders", order_id) in faulty:
            continue
        order = strictly(FAULTY.order(order_id) or b"")
        assert order["id"] == order_id
        assert {key for key, value in order.items() if value is None} <= {"promised_pick_up_time"}
        assert all(str(line["product_id"]) in PRODUCTS for line in order["items"])
        assert all(str(m["id"]) in MODIFIERS for line in order["items"] for m in line["modifiers"])


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, fault) for kind, planters in PLANTERS.items() for fault in planters if fault not in BROKEN_TEXT],
)
def test_a_fault_is_where_the_truth_says(kind: str, fault: str) -> None:
    """The document differs from the same one of a world without faults at the pointer, and hardly anywhere else."""
    beside = {"subtotal_break": {"/total_price"}, "product_in_no_menu": {"/items/0/name"}}
    beside["modifier_in_no_dictionary"] = {"/items/0/modifiers/0/name"}
    for entry in of_kind(kind, fault):
        document = strictly(served(FAULTY, entry))
        if kind == "menus":
            found = differences(strictly(served(CLEAN, entry)), document)
        else:
            plan = FAULTY.plan(entry.id).document(int(FAULTY.end.timestamp()))
            found = differences(strictly(PLAIN.encode(plan)), document)
        place = entry.pointer.rpartition("/")[0] if fault == "modifier_cycle" else entry.pointer
        assert place in found
        assert found - {place} <= beside.get(fault, set())


@pytest.mark.parametrize("kind", ["orders", "menus"])
def test_broken_text_is_broken(kind: str) -> None:
    """NaN, a duplicate key, truncated text and bytes that are no UTF-8 each break a strict reader in their own way."""
    for fault, complaint in (("nan", "constant NaN"), ("duplicate_key", "duplicate key")):
        for entry in of_kind(kind, fault):
            with pytest.raises(ValueError, match=complaint):
                strictly(served(FAULTY, entry))
            assert at(json.loads(served(FAULTY, entry)), entry.pointer) != "absent"
    for entry in of_kind(kind, "truncated"):
        assert served(FAULTY, entry).startswith(b"{")
        with pytest.raises(json.JSONDecodeError):
            strictly(served(FAULTY, entry).decode(errors="ignore").encode())
    for entry in of_kind(kind, "invalid_utf8"):
        with pytest.raises(UnicodeDecodeError):
            served(FAULTY, entry).decode()
        assert at(json.loads(served(FAULTY, entry).decode(errors="replace")), entry.pointer) != "absent"


def test_sums_that_are_off() -> None:
    """A total off breaks the formula and not the lines; a subtotal off breaks the lines and not the formula."""
    for fault, breaks in (("total_break", (True, False)), ("subtotal_break", (False, True))):
        for entry in of_kind("orders", fault):
            order = strictly(served(FAULTY, entry))
            parts = order["delivery_price"] + order["tip"] - order["discount"] - order["loyalty_discount"]
            lines = sum(
                line["quantity"] * (line["price"] + sum(m["price"] * m["quantity"] for m in line["modifiers"]))
                for line in order["items"]
            )
            off = (order["subtotal_price"] + parts != order["total_price"], order["subtotal_price"] != lines)
            assert off == breaks


def test_references_to_nothing() -> None:
    """Unknown products and modifiers of orders are in no menu; dangling references are in no dictionary."""
    for fault, known in (("product_in_no_menu", PRODUCTS), ("modifier_in_no_dictionary", MODIFIERS)):
        for entry in of_kind("orders", fault):
            assert str(at(strictly(served(FAULTY, entry)), entry.pointer)) not in known
    for entry in of_kind("menus", "dangling_reference"):
        menu = strictly(served(FAULTY, entry))
        assert str(at(menu, entry.pointer)) not in menu["products"].keys() | menu["modifiers"].keys()


def test_a_cycle_comes_back_to_itself() -> None:
    """From a product one gets into the cycle, and never out of it."""
    for entry in of_kind("menus", "modifier_cycle"):
        menu = strictly(served(FAULTY, entry))
        start = at(menu, entry.pointer)["modifier_id"]
        assert any(ref["modifier_id"] == start for product in menu["products"].values() for ref in product["modifiers"])
        reached, waiting = set(), [start]
        while waiting:
            children = menu["modifiers"][str(waiting.pop())]["children"]
            waiting += [ref["modifier_id"] for ref in children if ref["modifier_id"] not in reached]
            reached |= {ref["modifier_id"] for ref in children}
        assert start in reached


def test_null_absent_missing_and_decimals() -> None:
    """A null is null, an absent array and a missing id are not there, and excess decimals are more than four."""
    for kind in ("orders", "menus"):
        assert all(at(strictly(served(FAULTY, e)), e.pointer) is None for e in of_kind(kind, "null"))
        for fault in ("absent_array", "missing_id"):
            assert all(at(strictly(served(FAULTY, e)), e.pointer) == "absent" for e in of_kind(kind, fault))
        for entry in of_kind(kind, "excess_decimals"):
            exponent = at(strictly(served(FAULTY, entry)), entry.pointer).as_tuple().exponent
            assert exponent < -4


def test_a_fault_stays_in_its_place_over_time() -> None:
    """Whenever an order is looked at, its fault is the same."""
    for entry in of_kind("orders", "new_field") + of_kind("orders", "null"):
        early = FAULTY.order(entry.id, FAULTY.created(entry.id))
        assert at(strictly(early or b""), entry.pointer) == at(strictly(served(FAULTY, entry)), entry.pointer)


def test_the_truth_file_is_what_is_served(client: httpx.Client, files: Path) -> None:
    """The file lists kind, id, fault and pointer, and the server gives these very bytes."""
    world = World(Config(orders=300, stores=6, faults=0.1))
    listed = [Fault(**json.loads(line)) for line in (files / "truth").read_text().splitlines()]
    assert listed == world.truth()
    assert len({entry.fault for entry in listed if entry.kind == "orders"}) == len(PLANTERS["orders"])
    for entry in listed:
        body = client.get(f"/v1/partner_developers/{entry.kind}/{entry.id}").content
        assert body == served(world, entry)
