"""core.order_changes: one row per later version of an order and field that differs from the version before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def changes(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return field, old and new of each row."""
    return [(row["field"], row["old_value"], row["new_value"]) for row in rows]


@pytest.mark.duckdb2
def test_old_and_new(run_table: Run) -> None:
    """A field that differs has what it was and what it is; a number that came or went has a null on one side."""
    before = {"status": "new", "total_price": "10", "tip": None, "platform": "web"}
    after = {"status": "done", "total_price": "9.5", "tip": "1", "platform": "web"}
    rows = run_table(
        "core.order_changes",
        {"raw.order_edits": [{"order_id": 7, "version_no": 2, "before": before, "after": after}]},
    )
    assert changes(rows) == [
        ("status", "new", "done"),
        ("tip", None, "1.0000"),
        ("total_price", "10.0000", "9.5000"),
    ]


def test_personal_data_by_name_alone(run_table: Run) -> None:
    """A personal or encrypted field stands by its name, once, and never with a value."""
    before = {"has_user_phone": True, "has_dispatch_note": True, "dispatch_note": "ring"}
    after = {"has_user_phone": False, "has_dispatch_note": True, "dispatch_note": "knock"}
    edit = {"order_id": 7, "version_no": 2, "before": before, "after": after}
    rows = run_table(
        "core.order_changes", {"raw.order_edits": [edit | {"changed_personal": ["user_name", "user_phone"]}]}
    )
    assert changes(rows) == [("dispatch_note", None, None), ("user_name", None, None), ("user_phone", None, None)]


def test_arrays_by_name(run_table: Run) -> None:
    """Items and deliveries stand by their names: their rows have tables of their own."""
    rows = run_table(
        "core.order_changes",
        {
            "raw.order_edits": [
                {
                    "order_id": 7,
                    "version_no": 2,
                    "before": {"items": [{"id": 1}]},
                    "after": {"items": [{"id": 1}, {"id": 2}], "deliveries": [{"id": 3}]},
                }
            ]
        },
    )
    assert changes(rows) == [("deliveries", None, None), ("items", None, None)]


def test_what_was_stays(run_table: Run) -> None:
    """Changes that the table has stay beside the new ones."""
    rows = run_table(
        "core.order_changes",
        {
            "core.order_changes": [
                {"order_id": 7, "version_no": 2, "field": "tip", "old_value": "1.0000", "new_value": None}
            ],
            "raw.order_edits": [
                {"order_id": 7, "version_no": 3, "before": {"status": "new"}, "after": {"status": None}}
            ],
        },
    )
    assert [(row["version_no"], row["field"]) for row in rows] == [(2, "tip"), (3, "status")]
