"""A world in which one key has everything: what selects read grows with its orders, not with their pairs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from benchmarks.raw_world import Shape, make_raw
from pipelines.settings import load_settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.inputs.sources import create_sources
from pipelines.warehouse.rows.session import READ_ONLY, attached, session

if TYPE_CHECKING:
    from pathlib import Path

FEW = 2_000
LEAST = 4_000  # rows: what handles fewer is about stores, days or settings
PAIRS = "select count(*) from mart.orders as a inner join mart.orders as b using (customer_key)"


def rows_handled(plan: dict[str, Any]) -> int:
    """Return how many rows the operators of a plan read and gave, altogether."""
    own = int(plan.get("operator_rows_scanned") or 0) + int(plan.get("operator_cardinality") or 0)
    return own + sum(map(rows_handled, plan.get("children", ())))


def handled(folder: Path, shape: Shape, orders: int) -> dict[str, int]:
    """Build a world; return how many rows the select of each table that reads no documents handles."""
    make_raw(folder / "data", orders, shape=shape)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": "1"})
    build(settings)
    found = {}
    with session(settings) as con, attached(con, warehouse_file(settings.data_dir), READ_ONLY):
        create_sources(con, settings)
        for table in catalogue.tables():
            con.execute(f"create or replace view {table.name} as from warehouse.{table.name}")
        for name, sql in [*((table.name, table.sql) for table in catalogue.tables()), ("pairs", PAIRS)]:
            try:
                rows = con.execute(f"explain (analyze, format json) {sql}").fetchall()
            except (duckdb.CatalogException, duckdb.BinderException):
                continue  # it reads what is there only while documents are read
            found[name] = rows_handled(json.loads(rows[0][1]))
    return found


@pytest.mark.slow
def test_no_select_pairs_the_rows_of_a_key(tmp_path: Path) -> None:
    """Twice the orders are at most 2.3 times the rows; what pairs all with all is found by the same measure."""
    one = Shape(stores=1, store="0", customer="1", product="1", price="money(500)", lines="1", days=1, step=20)
    few, many = (handled(tmp_path / str(times), one, times * FEW) for times in (1, 2))
    exponents = {each: math.log2(many[each] / few[each]) for each in few if few[each] >= LEAST}
    assert len(few) > 60
    assert exponents.pop("pairs") > 1.8
    assert {each: round(found, 2) for each, found in exponents.items() if found > 1.2} == {}
