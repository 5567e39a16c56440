"""No select joins two large tables row by row: time must follow the number of rows, not its square."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.rows.session import create_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

# Joins of every row with every row, where one side stays short whatever is landed.
SHORT = {
    "workings.closed_population_rules": "subtotal and total",
    "audit.inactive_periods": "one row of days watched",
    "workings.order_populations": "subtotal and total",
    "workings.order_rule_settings": "the rules of the settings",
    "audit.possible_duplicate_orders": "the settings",
    "audit.service_behaviour": "four percentiles",
    "audit.field_profile": "the kinds of documents",
    "core.menus__were_observed": "the settings",
    "core.order_line_modifiers__reference_a_known_modifier": "the settings",
    "core.order_lines__reference_a_known_product": "the settings",
    "core.order_changes__are_of_one_order": "the settings",
    "core.orders": "the settings",
    "core.products__have_one_name_across_menus": "the settings",
    "core.store_versions": "the settings",
    "core.stores": "the settings",
    "mart.calendar": "the settings, and one row of days observed",
    "mart.orders": "the settings",
    "mart.orders__add_up_to_core_orders": "the settings",
}
if IS_2 := duckdb.__version__ >= "2":
    SHORT["audit.questions"] = "one row: each distinct sum is computed apart"
ROW_BY_ROW = re.compile(r"NESTED_LOOP|BLOCKWISE|CROSS_PRODUCT")


@pytest.fixture(scope="module")
def empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with every table that a select may read, where the planner does not see that all are empty."""
    with duckdb.connect() as con:
        con.execute("set disabled_optimizers = 'statistics_propagation,empty_result_pullup'")
        con.execute("set asof_loop_join_threshold = 0")  # of few rows: which are not all that there will be
        create_functions(con)
        for schema in ("raw", *catalogue.SCHEMAS):
            con.execute(f"create schema {schema}")
        tables = {table.name: {each.name: each.type for each in table.columns} for table in catalogue.tables()}
        for name, columns in {**relations.RAW, **tables}.items():
            spelled = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            con.execute(f"create table {name} ({spelled})")
        yield con


def is_row_by_row(con: duckdb.DuckDBPyConnection, select: str) -> bool:
    """Return whether the plan of a select compares every row of one side with every row of another."""
    ((_, plan),) = con.execute(f"explain (format json) ({select})").fetchall()
    return bool(ROW_BY_ROW.search(plan))


@pytest.mark.duckdb2
def test_only_short_tables_are_joined_row_by_row(empty: duckdb.DuckDBPyConnection) -> None:
    """Tables, checks and ties join by hash, or by order; the exceptions have one short side."""
    items = (*catalogue.tables(), *catalogue.checks(), *catalogue.ties())
    assert {item.name for item in items if is_row_by_row(empty, item.sql)} == SHORT.keys()


@pytest.mark.duckdb2
def test_a_join_row_by_row_is_found(empty: duckdb.DuckDBPyConnection) -> None:
    """One by order of values; for DuckDB 1 also a condition on the left side alone of a left join."""
    join = "select 1 from core.orders as a left join core.stores as b on"
    by_hash = f"{join} a.status is not distinct from b.name"
    assert not is_row_by_row(empty, by_hash)
    assert is_row_by_row(empty, f"{join} a.status <> b.name")
    assert is_row_by_row(empty, f"{by_hash} and a.order_id is not null") != IS_2
