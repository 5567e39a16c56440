"""Totals over all rows tie out before a build is committed, whatever the incremental build believes it touched."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.catalogue import ties
from pipelines.warehouse.rows.fresh_rows import tie_out
from pipelines.warehouse.rows.session import attached, session

# A fault in rows that no later build touches, and the tie that finds it.
FAULTS = {
    "mart.orders__add_up_to_core_orders": "update mart.orders set tip = tip + 1 where order_id = 3",
    "mart.orders__number_the_orders_of_customers": "update mart.orders set customer_order_no = 2 where order_id = 3",
    "mart.daily_store_sales__tie_to_all_orders": "update mart.daily_store_sales set store_id = 7 where store_id = 2",
    "mart.daily_reconciliations__tie_to_all_orders": "delete from mart.order_reconciliation where order_id = 3",
    "mart.daily_reconciliations__tie_to_daily_sales": "update mart.daily_reconciliations set tip = 99",
    "mart.product_mix__tie_to_all_lines": "delete from mart.product_mix where business_date = date '2026-11-03'",
    "mart.order_lines__tie_to_core_lines": "update mart.order_lines set product_id = 5 where order_id = 3",
    "core.order_lines__tie_to_all_orders": "update core.order_lines set order_id = 4 where order_id = 3",
    "mart.price_variances__tie_to_lines_and_modifiers": "delete from core.order_line_modifiers where order_id = 3",
    "workings.daily_field_values__tie_to_core": "delete from core.order_deliveries where order_id = 3",
}

AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
# The measures of a table, each of which breaks a tie by itself when it is one more in one row.
MEASURES = {
    "core.orders": ("mart.orders__add_up_to_core_orders", AMOUNTS),
    "mart.orders": ("mart.daily_store_sales__tie_to_all_orders", (*AMOUNTS, "line_count", "unit_count")),
    "mart.daily_store_sales": ("mart.daily_reconciliations__tie_to_daily_sales", ("order_count", *AMOUNTS)),
    "mart.order_reconciliation": (
        "mart.daily_reconciliations__tie_to_all_orders",
        (*AMOUNTS, "line_amount", "unallocated_amount", "formula_subtotal", "subtotal_residual", "formula_total"),
    ),
    "mart.daily_reconciliations": (
        "mart.daily_reconciliations__tie_to_all_orders",
        ("order_count", "break_count", "total_residual", *AMOUNTS),
    ),
    "mart.product_mix": (
        "mart.product_mix__tie_to_all_lines",
        ("line_count", "unvalued_line_count", "unit_count", "line_amount"),
    ),
    "mart.order_lines": ("mart.order_lines__tie_to_core_lines", ("order_id", "product_id", "quantity")),
    "core.order_lines": ("core.order_lines__tie_to_all_orders", ("order_id", "quantity")),
    "mart.price_variances": ("mart.price_variances__tie_to_lines_and_modifiers", ("order_id", "modifier_no", "price")),
}


def _full_order(make_order: Any, order_id: int) -> Any:
    """Return an order that states every amount, none of them zero: one that is nowhere ties out whatever is done."""
    return make_order(order_id, status="done", loyalty_discount="0.5")


def _started(world: Any, make_order: Any, make_menu: Any, make_store: Any) -> None:
    world.land("stores", [{"id": each, "document": make_store(each)} for each in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    orders = [{"id": each, "document": _full_order(make_order, each), "customer": str(each)} for each in range(1, 6)]
    world.land("orders", orders)
    world.build()


def test_each_tie_has_a_planted_fault() -> None:
    """No tie is without a fault that it finds."""
    assert {tie.name for tie in ties()} == set(FAULTS)


@pytest.mark.slow
def test_each_fault_is_found_by_its_tie(world: Any, make_order: Any, make_menu: Any, make_store: Any) -> None:
    """Each fault breaks its tie; without a fault all of them hold."""
    _started(world, make_order, make_menu, make_store)
    file = warehouse_file(world.data)
    with session(world.settings) as con, attached(con, file):
        assert [each.violations for each in tie_out(con)] == [0] * len(FAULTS)
        for name, fault in FAULTS.items():
            con.execute("begin")
            con.execute(f"use warehouse; {fault}; use memory")
            assert name in {each.name for each in tie_out(con) if each.violations}, fault
            con.execute("rollback")
        for table, (name, measures) in MEASURES.items():
            for measure in measures:
                con.execute("begin")
                row = f"(select min(rowid) from warehouse.{table} where order_id = 3)"
                if not table.startswith(("core.", "mart.order", "mart.price")):
                    row = "0"
                con.execute(f"update warehouse.{table} set {measure} = coalesce({measure}, 0) + 1 where rowid = {row}")
                assert name in {each.name for each in tie_out(con) if each.violations}, f"{table}.{measure}"
                con.execute("rollback")


@pytest.mark.slow
def test_day_that_forgot_to_lose_an_order_blocks_the_increment(
    world: Any, make_order: Any, make_menu: Any, make_store: Any
) -> None:
    """A day with an order too many, left by an increment that did not touch it, is not committed again, but rebuilt."""
    _started(world, make_order, make_menu, make_store)
    with duckdb.connect(str(warehouse_file(world.data))) as con:
        con.execute(
            "update mart.daily_store_sales set order_count = order_count + 1 where business_date = '2026-11-03'"
        )
    world.land("orders", [{"id": 1, "document": make_order(1, status="refused"), "at": 5}])
    result = world.build()
    assert result.full
    assert "did not tie out" in result.why
    assert "2026-11-03" in result.why
    assert any("rebuilt from raw" in note for note in result.notes)
    before = world.contents()
    world.build(full=True)
    assert world.contents() == before


@pytest.mark.slow
def test_sound_increment_ties_out(world: Any, make_order: Any, make_menu: Any, make_store: Any) -> None:
    """Without a fault the same order makes an increment without a note."""
    _started(world, make_order, make_menu, make_store)
    world.land("orders", [{"id": 1, "document": make_order(1, status="refused"), "at": 5}])
    result = world.build()
    assert (result.full, result.notes) == (False, ())
    names = {check.name: check.violations for check in result.checks}
    assert {names[tie] for tie in FAULTS} == {0}
