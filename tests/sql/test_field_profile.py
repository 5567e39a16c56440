"""audit.field_profile: how often each field of each kind is there, and what it holds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_days_and_kinds_add_up(run_table: Run) -> None:
    """Days of orders add up to one row a field; null, absent and unknown values stand beside the others."""
    at = "2026-11-20T0{}:00:00Z".format
    tip = {"path": "/tip", "type": "number", "parent_count": 10}
    days = [
        {"path": "/id", "type": "integer", "parent_count": 10, "present_count": 10, "max_decimals": 0, "example_id": 1},
        tip
        | {
            "present_count": 8,
            "max_decimals": 2,
            "min_value": "0",
            "max_value": "2.5",
            "first_seen_at": at(2),
            "example_id": 6,
        },
        tip
        | {
            "present_count": 7,
            "max_decimals": 1,
            "min_value": "-1",
            "max_value": "1",
            "first_seen_at": at(1),
            "example_id": 5,
        },
    ]
    notes = [
        {"note": "tip=null", "document_count": 2, "first_seen_at": at(1), "last_seen_at": at(3), "example_id": 7},
        {"note": "tip=null", "document_count": 3, "first_seen_at": at(2), "last_seen_at": at(5), "example_id": 4},
        {"note": "items=absent", "document_count": 1, "first_seen_at": at(4), "example_id": 9},
        {"note": "items=absent", "document_count": 2, "first_seen_at": at(2), "example_id": 8},
    ]
    rows = run_table(
        "audit.field_profile",
        {
            "workings.daily_field_values": days,
            "workings.daily_field_profile": notes,
            "workings.field_values": [
                {"kind": "menus", "path": "/menu/id", "type": "integer", "parent_count": 2, "present_count": 2},
                {"kind": "menus", "path": "/menu/name", "type": "string", "parent_count": 2, "present_count": 0},
            ],
            "workings.menu_field_issues": [
                {"menu_id": 10, "missing_fields": ["menu/name=null"], "unknown_fields": ["/a:b:number|null"]},
                {"menu_id": 11, "missing_fields": ["menu/name=null"], "unknown_fields": ["/a:b:string"]},
            ],
        },
    )
    by_path = {(row["kind"], row["path"]): row for row in rows}
    assert list(by_path) == [
        ("menus", "/?"),
        ("menus", "/menu/id"),
        ("menus", "/menu/name"),
        ("orders", "/id"),
        ("orders", "/items"),
        ("orders", "/tip"),
    ]
    tips = by_path["orders", "/tip"]
    assert (tips["document_count"], tips["parent_count"], tips["present_count"], tips["null_document_count"]) == (
        10,
        20,
        15,
        5,
    )
    assert (tips["min_value"], tips["max_value"], tips["max_decimals"]) == (Decimal(-1), Decimal("2.5"), 2)
    assert (tips["types"], tips["example_id"], tips["null_example_id"]) == (["null", "number"], 5, 4)
    assert tips["first_seen_at"] == tips["null_first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)
    unknown = by_path["menus", "/?"]
    assert (unknown["is_documented"], unknown["present_count"], unknown["types"]) == (
        False,
        2,
        ["null", "number", "string"],
    )
    assert by_path["menus", "/menu/name"]["types"] == ["null"]
    items = by_path["orders", "/items"]
    assert (items["absent_document_count"], items["absent_example_id"], items["present_count"]) == (3, 8, None)
    assert items["absent_first_seen_at"] == dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC)


@pytest.mark.parametrize(("customers", "path"), [(19, "/?"), (20, "/new")])
def test_name_of_a_field_is_shown_once_twenty_customers_have_it(run_table: Run, customers: int, path: str) -> None:
    """Customers count once, whatever the days; until then type and number are shown alone."""
    keys = [f"{n:02d}" for n in range(customers)]
    notes = [
        {"note": "/new:string", "document_count": 15, "customer_keys": keys[:15]},
        {"note": "/new:string", "document_count": 15, "customer_keys": keys[5:]},
    ]
    ids = [{"path": "/id", "type": "integer", "parent_count": 30, "present_count": 30, "example_id": 1}]
    rows = run_table("audit.field_profile", {"workings.daily_field_values": ids, "workings.daily_field_profile": notes})
    found = [(row["path"], list(row["types"]), row["present_count"]) for row in rows if not row["is_documented"]]
    assert found == [(path, ["string"], 30)]


@pytest.mark.parametrize(("stores", "path"), [(19, "/?"), (20, "/new")])
def test_name_of_a_stores_field_is_shown_once_twenty_stores_have_it(run_table: Run, stores: int, path: str) -> None:
    """As with orders, a name may be a person's; the same of menus."""
    for kind in ("store", "menu"):
        issues = [{f"{kind}_id": n, "missing_fields": [], "unknown_fields": ["/new:string"]} for n in range(stores)]
        path_of_id = "/menu/id" if kind == "menu" else "/id"
        figures = {"parent_count": stores, "present_count": stores}
        ids = [{"kind": f"{kind}s", "path": path_of_id, "type": "integer", **figures}]
        given = {f"workings.{kind}_field_issues": issues, "workings.field_values": ids}
        rows = [row for row in run_table("audit.field_profile", given) if not row["is_documented"]]
        assert [(row["path"], row["present_count"]) for row in rows] == [(path, stores)]
