"""An amount that an order states is the same under its name in every table: of one order, every sum is its amount."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pytest

from pipelines.warehouse.building.build import warehouse_file

# All differ, as do all sums of some of them.
AMOUNTS = {
    "subtotal_price": "100",
    "delivery_price": "20",
    "tip": "3",
    "discount": "0.4",
    "loyalty_discount": "0.05",
    "total_price": "122.55",
}


@pytest.mark.slow
def test_an_amount_is_the_same_in_every_table(books: Any) -> None:
    """A day of one order, closed and built again: no table shows one amount under another's name."""
    books.land(1, created_at="2016-10-30T10:00:00Z", store_id=1, **AMOUNTS)
    books.publish()
    books.close("2016-10-30")
    books.publish()
    shown: dict[str, set[str]] = {name: set() for name in AMOUNTS}
    wrong = []
    with duckdb.connect(str(warehouse_file(books.world.data)), read_only=True) as con:
        columns = con.execute(
            "select schema_name || '.' || table_name, column_name from duckdb_columns() "
            "where schema_name in ('core', 'mart', 'audit', 'workings') order by all"
        ).fetchall()
        for table, column in columns:
            if column not in AMOUNTS:
                continue
            found = {row[0] for row in con.execute(f"select distinct {column} from {table}").fetchall()} - {None}
            if found:
                shown[column].add(table)
            if found - {Decimal(AMOUNTS[column])}:
                wrong.append((table, column, found))
    assert wrong == []
    for column, tables in shown.items():
        assert {"core.orders", "mart.orders", "mart.daily_store_sales", "workings.closed_day_totals"} <= tables, column
