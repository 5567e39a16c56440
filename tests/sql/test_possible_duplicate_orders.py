"""audit.possible_duplicate_orders: same customer, store and lines within minutes; warned, never removed."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.inputs.relations import RAW

if TYPE_CHECKING:
    import duckdb

    from tests.sql.conftest import Given, Run


def order(order_id: int, minute: int, **others: Any) -> dict[str, Any]:
    """Return a row of mart.orders of two lines, created at that minute."""
    return {
        "order_id": order_id,
        "customer_key": "c1",
        "store_id": 1,
        "sale_class": "counted",
        "line_count": 2,
        "unit_count": 3,
        "created_at": f"2026-10-31T23:{minute:02d}:00Z",
        "total_price": "7.5",
        **others,
    }


def contents(order_id: int, *, turned: bool = False, **changed: Any) -> Given:
    """Return lines and modifiers of such an order; `turned` writes them the other way round."""
    first, second = (2, 1) if turned else (1, 2)
    line = {"order_id": order_id, "product_id": 5, "quantity": 2, "price": "3"} | changed
    modifiers = [{"order_id": order_id, "line_no": first, "modifier_id": n, "price": "1"} for n in (7, 8)]
    return {
        "core.order_lines": [
            line | {"line_no": first},
            {"order_id": order_id, "line_no": second, "product_id": 6, "quantity": 1},
        ],
        "core.order_line_modifiers": [
            each | {"modifier_no": n} for n, each in enumerate(modifiers[::-1] if turned else modifiers, 1)
        ],
    }


def found(run_table: Run, orders: list[dict[str, Any]], *parts: Given, minutes: int = 10) -> list[tuple[Any, ...]]:
    """Return which order repeats which, and after how many seconds."""
    given: Given = {"mart.orders": orders, "raw.settings": [{"finance_duplicate_minutes": minutes}]}
    for part in parts:
        for name, rows in part.items():
            given[name] = given.get(name, []) + rows
    rows = run_table("audit.possible_duplicate_orders", given)
    return [(row["order_id"], row["original_order_id"], row["seconds_later"]) for row in rows]


@pytest.mark.duckdb2
def test_the_same_within_minutes(run_table: Run) -> None:
    """An order with the same lines, in any order, ten minutes later is a suspect; eleven minutes later it is not."""
    parts = (contents(1), contents(2, turned=True))
    assert found(run_table, [order(1, 0), order(2, 10)], *parts) == [(2, 1, 600)]
    assert found(run_table, [order(1, 0), order(2, 11)], *parts) == []
    assert found(run_table, [order(1, 0), order(2, 11)], *parts, minutes=11) == [(2, 1, 660)]


@pytest.mark.parametrize(
    "change", [{"customer_key": "c2"}, {"customer_key": None}, {"store_id": 2}, {"created_at": None}]
)
def test_another_customer_or_store(run_table: Run, change: dict[str, Any]) -> None:
    """Another customer or store, or none that is known, is no suspect."""
    assert found(run_table, [order(1, 0), order(2, 1) | change], contents(1), contents(2)) == []


@pytest.mark.parametrize("change", [{"price": "3.0001"}, {"product_id": 9}, {"quantity": None}])
def test_other_lines(run_table: Run, change: dict[str, Any]) -> None:
    """A hundredth of a cent, another product or another quantity in a line is another order."""
    assert found(run_table, [order(1, 0), order(2, 1)], contents(1), contents(2, **change)) == []


def test_of_several_the_last(run_table: Run) -> None:
    """Three in a row are two suspects, each like the one before it."""
    orders = [order(1, 0), order(2, 5), order(3, 5)]
    assert found(run_table, orders, contents(1), contents(2), contents(3)) == [(2, 1, 300), (3, 2, 0)]


def test_they_are_warned_of(run_check: Run) -> None:
    """Each suspect is listed with its money and the order that it is like."""
    claim = "audit.possible_duplicate_orders__are_none"
    assert run_check(claim, {}) == []
    planted = {"order_id": 2, "original_order_id": 1, "seconds_later": 60, "total_price": "7.5"}
    assert run_check(claim, {"audit.possible_duplicate_orders": [planted]}) == [
        {
            "entity_id": 2,
            "location": "created_at",
            "residual": Decimal("7.5"),
            "detail": "like order 1, 60 s before",
        }
    ]


@pytest.mark.duckdb2
def test_a_customer_of_many_orders_is_looked_at_once(con: duckdb.DuckDBPyConnection) -> None:
    """Of one customer's orders, two minutes apart, twice as many are twice the rows in every step of the plan."""
    table = catalogue.table("audit.possible_duplicate_orders")
    scanned = []
    for count in (500, 1_000):
        for name in table.depends_on:
            columns = RAW.get(name) or {column.name: column.type for column in catalogue.table(name).columns}
            con.execute(f"create or replace table {name} ({', '.join(f'{n} {k}' for n, k in columns.items())})")
        con.execute("insert into raw.settings (finance_duplicate_minutes) values (10)")
        con.execute(f"""
            insert into mart.orders (order_id, customer_key, store_id, line_count, created_at)
            select n, 'c', 1, 1, timestamptz '2026-11-01' + n * interval 2 minute from range({count}) as t (n)
        """)
        con.execute(f"""
            insert into core.order_lines (order_id, line_no, product_id, quantity, price)
            select n, 1, 5, 1, 3 from range({count}) as t (n)
        """)
        assert con.execute(f"select count(*) from ({table.sql})").fetchone() == (count - 1,)
        plan = con.execute(f"explain (analyze, format json) {table.sql}").fetchall()[0][1]
        scanned.append(sum(map(int, re.findall(r'"(?:operator_cardinality|intermediate_rows)": (\d+)', plan))))
    assert scanned[1] < 2.1 * scanned[0]
