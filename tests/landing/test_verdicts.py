"""Refused documents, why and where; accepted ones although something is missing."""

from __future__ import annotations

import json
import re
from decimal import localcontext
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.exact import EXACT, InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary


def _replaced(document: dict[str, Any], pointer: str, text: str) -> bytes:
    """Return the document as JSON with the value at `pointer` written as `text`."""
    *path, last = pointer.strip("/").split("/")
    at: Any = document
    for token in path:
        at = at[int(token)] if isinstance(at, list) else at[token]
    at[int(last) if isinstance(at, list) else last] = "@@"
    return json.dumps(document).replace('"@@"', text).encode()


ORDER_FAULTS = [
    ("/id", "null", "no_id"),
    ("/id", "-5", "id_out_of_range"),
    ("/id", '"7"', "wrong_type"),
    ("/id", "7.0", "wrong_type"),
    ("/id", "true", "wrong_type"),
    ("/id", "9223372036854775808", "integer_out_of_range"),
    ("/id", "1" * 5000, "integer_out_of_range"),
    ("/id", "8", "wrong_id"),
    ("/store_id", "-9223372036854775809", "integer_out_of_range"),
    ("/store_id", "[]", "wrong_type"),
    ("/user_phone", "12", "wrong_type"),
    ("/user_latitude", '"40.8"', "wrong_type"),
    ("/status", "{}", "wrong_type"),
    ("/created_at", '"yesterday"', "bad_timestamp"),
    ("/created_at", '"2026-02-30T00:00:00Z"', "bad_timestamp"),
    ("/created_at", '"2026-10-01 12:00:00Z"', "bad_timestamp"),
    ("/created_at", '"2026-10-01T24:00:00Z"', "bad_timestamp"),
    ("/created_at", "1759312800", "wrong_type"),
    ("/tip", '"1.00"', "wrong_type"),
    ("/tip", "1.00005", "too_many_decimals"),
    ("/tip", "100000000000000", "too_many_digits"),
    ("/tip", "1e14", "too_many_digits"),
    ("/tip", "1e-5", "too_many_decimals"),
    ("/items", '{"0": {}}', "wrong_type"),
    ("/items", "false", "wrong_type"),
    ("/deliveries", '""', "wrong_type"),
    ("/items/0", "[1]", "wrong_type"),
    ("/items/0/price", '"10"', "wrong_type"),
    ("/items/0/quantity", "1.5", "wrong_type"),
    ("/items/0/modifiers/0/price", "[1]", "wrong_type"),
    ("/deliveries/0/tracking_url", "false", "wrong_type"),
]


@pytest.mark.parametrize(("pointer", "text", "reason"), ORDER_FAULTS)
def test_a_wrong_shape_is_refused_with_its_place(
    land: Callable[..., LoadSummary], order: dict[str, Any], pointer: str, text: str, reason: str
) -> None:
    """An order with a wrong value anywhere is refused whole, with reason and pointer, and nothing else is said."""
    summary = land("orders", _replaced(order, pointer, text), requested_id=7)
    assert summary.counts == {"accepted": 0, "unchanged": 0, "quarantined": 1, "missing": 0}
    assert [refusal[:3] for refusal in summary.quarantined] == [(7, reason, pointer)]


BODIES = [
    (b"", "not_json"),
    (b"<html>", "not_json"),
    (b'{"id":7,"tip":01}', "not_json"),
    (b'{"id":7,"user_name":"\xff"}', "invalid_utf8"),
    (b'{"id":7,"user_name":"\\ud800"}', "lone_surrogate"),
    (b'{"id":7,"tip":NaN}', "not_finite"),
    (b'{"id":7,"tip":-Infinity}', "not_finite"),
    (b'{"id":7,"id":7}', "duplicate_key"),
    (b'{"id":7,"items":[{"id":1,"id" :2}]}', "duplicate_key"),
    (b'{"id":7,"x":{"a":1,"a":2}}', "duplicate_key"),
    (b"[" * 100_000, "too_deep"),
    (b'{"id":7,"x":' + b'{"a":' * 64 + b"1" + b"}" * 65, "too_deep"),
    (b'{"id":7,"x":"' + b"x" * 5_242_880 + b'"}', "too_large"),
    (b"[]", "wrong_type"),
    (b"7", "wrong_type"),
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("body", "reason"), BODIES, ids=[f"{r}-{n}" for n, (_, r) in enumerate(BODIES)])
def test_what_is_not_plain_json_is_refused(land: Callable[..., LoadSummary], body: bytes, reason: str) -> None:
    """Broken, ambiguous, deep or large bytes are refused in bounded time."""
    summary = land("orders", body, requested_id=7)
    assert [(refusal.id, refusal.reason) for refusal in summary.quarantined] == [(7, reason)]


def test_a_duplicate_key_has_its_place(land: Callable[..., LoadSummary]) -> None:
    """The pointer of a duplicate key leads to it; a key that looks like no name is not shown."""
    first = land("orders", b'{"id":7,"items":[{"id":1},{"price":1,"price":2}]}')
    second = land("orders", b'{"id":7,"x":{"ann@example.com":1,"ann@example.com":2}}')
    assert first.quarantined[0].pointer == "/items/1/price"
    assert second.quarantined[0].pointer == "/?/?"  # no undocumented name is shown


def test_depth_is_counted_outside_strings(land: Callable[..., LoadSummary], order: dict[str, Any]) -> None:
    """Brackets in a text are no nesting, and 64 levels are not too many."""
    order["dispatch_note"] = "[" * 1000 + '"' + "\\" * 3
    order["x"] = json.loads("[" * 63 + "]" * 63)
    assert land("orders", order).counts["accepted"] == 1


def test_an_order_that_lacks_everything_but_its_id_is_accepted(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]], order: dict[str, Any]
) -> None:
    """Absent fields are accepted and recorded, and stay absent."""
    assert land("orders", b'{"id":7}').counts["accepted"] == 1
    (row,) = raw("documents", "orders")
    assert row["document"] == '{"id":7}'
    assert row["absences"] == sorted(f"{name}=absent" for name in order if name != "id")
    assert (row["lines"], row["modifiers"], row["deliveries"], row["order_money"]) == (0, 0, 0, 0)


def test_null_is_accepted_everywhere_but_for_the_id(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]], order: dict[str, Any]
) -> None:
    """Each field of an order may be null, and elements of its arrays too; what was null is recorded by path."""
    item, delivery = order["items"][0], order["deliveries"][0]
    blank = dict.fromkeys(order) | {"id": 7, "items": [None, dict.fromkeys(item)]}
    blank["items"].append(dict.fromkeys(item) | {"modifiers": [None, dict.fromkeys(item["modifiers"][0])]})
    blank["deliveries"] = [dict.fromkeys(delivery)]
    assert land("orders", blank).counts["accepted"] == 1
    (row,) = raw("documents", "orders")
    assert {"user_phone=null", "items/*=null", "items/*/modifiers=null", "items/*/modifiers/*/price=null"} <= set(
        row["absences"]
    )
    assert (row["lines"], row["modifiers"], row["deliveries"]) == (3, 2, 1)
    document = json.loads(row["document"])
    assert document["has_user_phone"] is None
    assert document["items"][0] is None


@pytest.mark.parametrize(
    ("kind", "pointer", "text"),
    [
        ("orders", "/items", "{}"),
        ("orders", "/deliveries", "{}"),
        ("orders", "/items/0/modifiers", "{}"),
        ("orders", "/items/0", "[]"),
        ("orders", "/items/0/modifiers/0", "[]"),
        ("orders", "/deliveries/0", "[]"),
        ("menus", "/menu/price_groups/0", "[]"),
        ("menus", "/products", "[]"),
        ("menus", "/modifiers", "[]"),
        ("menus", "/menu/price_groups", "{}"),
        ("menus", "/menu/price_groups/0/prices", "{}"),
        ("menus", "/products/100", "[]"),
        ("menus", "/products/100/modifiers", "{}"),
        ("menus", "/modifiers/900/children", "{}"),
    ],
)
def test_an_empty_one_of_the_other_kind_is_empty(
    land: Callable[..., LoadSummary], raw: Callable[..., Any], order: Any, menu: Any, kind: str, pointer: str, text: str
) -> None:
    """`{}` for a list has the content of `[]`, and `[]` for an object that of `{}`; that it came so is noted."""
    document = order if kind == "orders" else menu
    right = "[]" if text == "{}" else "{}"
    assert land(kind, _replaced(document, pointer, text)).counts["accepted"] == 1
    assert land(kind, _replaced(document, pointer, right)).counts["unchanged"] == 1
    (row,) = raw("documents", kind)
    path = re.sub(r"/(\d+)(?=/|$)", "/*", pointer).removeprefix("/")
    assert [note for note in row["absences"] if note.endswith("=type")] == [f"{path}=type"]


def test_lists_come_as_objects_by_a_setting(order: dict[str, Any]) -> None:
    """An object whose keys are positions is the list in their order, holes or not; other keys are no positions."""
    validate = Validator(load_settings(environ={"ORDERMART_LANDING__LISTS_AS_OBJECTS": "true"}), "orders").validate
    item = order["items"][0]
    first, second = item | {"id": 1}, item | {"id": 2, "modifiers": {"3": item["modifiers"][0]}}
    with localcontext(EXACT):
        found = validate(json.dumps(order | {"items": {"10": second, "2": first}}).encode())
        items = json.loads(found.document)["items"]
        assert [(each["id"], len(each["modifiers"])) for each in items] == [(1, len(item["modifiers"])), (2, 1)]
        assert {"items=type", "items/*/modifiers=type"} <= set(found.missing_fields)
        for key in ("x", "-1", "01"):
            with pytest.raises(InvalidDocumentError, match="wrong_type at /items"):
                validate(json.dumps(order | {"items": {key: item}}).encode())


MENU_FAULTS = [
    ("/menu", "null", "no_id"),
    ("/menu/id", "null", "no_id"),
    ("/menu/price_groups/0/prices/0/product_id", "null", "no_id"),
    ("/menu/price_groups/0/prices/0/price", '"1"', "wrong_type"),
    ("/products/100/modifiers/0/modifier_id", "null", "no_id"),
    ("/products", "[1]", "wrong_type"),
    ("/modifiers/900/children", '{"0": {"modifier_id": 1}}', "wrong_type"),
]


@pytest.mark.parametrize(("pointer", "text", "reason"), MENU_FAULTS)
def test_a_menu_of_wrong_shape_is_refused_with_its_place(
    land: Callable[..., LoadSummary], menu: dict[str, Any], pointer: str, text: str, reason: str
) -> None:
    """A menu needs its own id and its references; everything else may be null, and nothing of another type."""
    summary = land("menus", _replaced(menu, pointer, text), requested_id=40)
    assert [refusal[:3] for refusal in summary.quarantined] == [(40, reason, pointer)]


@pytest.mark.parametrize("key", ["01", "+1", "1.0", "x", "", "9223372036854775808", "٣", " 1"])
def test_a_dictionary_key_that_is_no_id_is_refused(
    land: Callable[..., LoadSummary], menu: dict[str, Any], key: str
) -> None:
    """Keys of products and modifiers are canonical integers."""
    menu["products"][key] = menu["products"]["100"]
    assert land("menus", menu).quarantined[0].reason == "bad_dictionary_key"


@pytest.mark.promise(2)
def test_the_gate_counts_and_adds_up_a_menu(
    land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]], menu: dict[str, Any]
) -> None:
    """Array lengths and exact sums stand beside the document; dictionary keys are in numeric order."""
    menu["products"]["20"] = {"name": "Bread", "modifiers": None}
    menu["modifiers"]["900"]["children"] = [{"modifier_id": 901, "position": 1, "price": 0.0001}]
    land("menus", menu)
    (row,) = raw("documents", "menus")
    counted = ("price_groups", "prices", "products", "product_references", "modifiers", "child_references")
    assert [row[name] for name in counted] == [1, 1, 2, 1, 1, 1]
    sums = ("price_money", "delivery_price_money", "reference_money")
    assert [str(row[name]) for name in sums] == ["10.5000", "11.0000", "1.2501"]
    assert list(json.loads(row["document"])["products"]) == ["20", "100"]
