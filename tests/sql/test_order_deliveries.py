"""core.order_deliveries: the delivery records of an order, by place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

OWN = {"id": 4, "type": "own_delivery", "status": "confirmed", "has_confirmation_code": True, "has_tracking_url": False}


def deliveries(run_table: Run, *of_orders: Any) -> list[dict[str, Any]]:
    """Return the rows of the orders 1, 2, … with these deliveries."""
    orders = [
        {"order_id": number, "document": {"id": number, "deliveries": each}, "_load_id": f"L{number}"}
        for number, each in enumerate(of_orders, 1)
    ]
    return run_table("core.order_deliveries", {"raw.latest_orders": orders})


@pytest.mark.duckdb2
def test_deliveries_are_none_or_several(run_table: Run) -> None:
    """Each record is a row by its place, equal ones too; a null or empty array gives none, an empty record one."""
    rows = deliveries(run_table, [OWN, OWN, {}], [], None, [{"id": 5, "type": "drone"}])
    keys = [(row["order_id"], row["delivery_no"], row["delivery_id"], row["type"], row["status"]) for row in rows]
    assert keys == [
        (1, 1, 4, "own_delivery", "confirmed"),
        (1, 2, 4, "own_delivery", "confirmed"),
        (1, 3, None, None, None),
        (4, 1, 5, "drone", None),
    ]
    assert [row["_load_id"] for row in rows] == ["L1", "L1", "L1", "L4"]


def test_personal_texts_are_flags_unless_named_plaintext(run_table: Run) -> None:
    """A code and a tracking address are whether they are there; their texts only if the document has them."""
    open_one = {"has_confirmation_code": True, "confirmation_code": "A1", "has_tracking_url": True, "tracking_url": "u"}
    encrypted, plain, empty = deliveries(run_table, [OWN, open_one, {}])
    assert (encrypted["has_confirmation_code"], encrypted["confirmation_code"]) == (True, None)
    assert (encrypted["has_tracking_url"], encrypted["tracking_url"]) == (False, None)
    assert (plain["confirmation_code"], plain["tracking_url"], plain["has_tracking_url"]) == ("A1", "u", True)
    assert (empty["has_confirmation_code"], empty["has_tracking_url"]) == (None, None)
