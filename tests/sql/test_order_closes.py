"""workings.order_closes: which close an order belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"


def close(number: int | None, store_id: int | None = None) -> dict[str, Any]:
    """Return the active close of the day: of a store (None: reopened) or of every other store."""
    closed_at = number and f"2026-11-0{number}T00:00:00Z"
    found = {"business_date": DAY, "store_id": store_id, "is_every_store": store_id is None}
    return found | {"close_entry_no": number, "closed_at": closed_at}


def closes(run_table: Run, *found: dict[str, Any]) -> list[int | None]:
    """Return the closes of two stores' orders, of an order without a store, and of another day's."""
    stores = (7, 8, None)
    orders = [{"order_id": no, "store_id": store, "business_date": DAY} for no, store in enumerate(stores)]
    orders.append({"order_id": 3, "store_id": 7, "business_date": "2026-10-30"})
    rows = run_table("workings.order_closes", {"mart.orders": orders, "raw.day_closes": list(found)})
    assert [row["closed_at"] and row["closed_at"].day for row in rows] == [row["close_entry_no"] for row in rows]
    return [row["close_entry_no"] for row in rows]


def test_a_store_has_its_own_close_before_that_of_every_store(run_table: Run) -> None:
    """Without one of its own it has that of every store; reopened alone it has none."""
    assert closes(run_table) == [None, None, None, None]
    assert closes(run_table, close(4)) == [4, 4, 4, None]
    assert closes(run_table, close(4), close(5, 8)) == [4, 5, 4, None]
    assert closes(run_table, close(4), close(None, 8)) == [4, None, 4, None]
    assert closes(run_table, close(5, 8)) == [None, 5, None, None]
