"""Worlds in which one key has everything: what selects read grows with its orders, not with their pairs."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.raw_world import Shape, make_raw
from pipelines.settings import load_settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.sources import create_sources
from pipelines.warehouse.rows.session import READ_ONLY, attached, session

if TYPE_CHECKING:
    from pathlib import Path

FEW = 2_000
LEAST = 4_000  # rows: what handles fewer is about stores, days or settings
WORLDS = {
    "one of everything": Shape(
        stores=1, store="0", customer="1", product="1", price="money(500)", lines="1", days=1, step=20
    ),
    "one order, seen often": Shape(stores=1, store="0", customer="1", order_id="0", lines="1", modifier="1"),
}
PAIRS = "select count(*) from mart.orders as a inner join mart.orders as b using (customer_key)"


def is_read_twice(sql: str) -> bool:
    """Tell whether a select names a relation more than once after `from` or `join`."""
    named = re.findall(r"\b(?:from|join)\s+([a-z_]+(?:\.[a-z_]+)?)", re.sub(r"--.*", "", sql))
    return len(named) > len(set(named))


def rows_handled(plan: dict[str, Any]) -> int:
    """Return how many rows the operators of a plan read and gave, altogether."""
    own = int(plan.get("operator_rows_scanned") or 0) + int(plan.get("operator_cardinality") or 0)
    return own + sum(map(rows_handled, plan.get("children", ())))


def handled(folder: Path, shape: Shape, orders: int) -> dict[str, int]:
    """Build a world; return how many rows the select of each table handles."""
    make_raw(folder / "data", orders, shape=shape)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": "1"})
    build(settings)
    found = {}
    with session(settings) as con, attached(con, warehouse_file(settings.data_dir), READ_ONLY):
        relations.create(con, *relations.RAW)  # what comes of documents stays empty: `benchmarks/skew.py` has its CPU
        create_sources(con, settings)
        for table in catalogue.tables():
            con.execute(f"create or replace view {table.name} as from warehouse.{table.name}")
        con.execute("insert into raw.order_checks select order_id, now(), 'accepted', 0, 'live' from core.orders")
        for name, sql in [*((table.name, table.sql) for table in catalogue.tables()), ("pairs", PAIRS)]:
            rows = con.execute(f"explain (analyze, format json) {sql}").fetchall()
            found[name] = rows_handled(json.loads(rows[0][1]))
    return found


@pytest.fixture(scope="module", params=WORLDS)
def grown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], ...]:
    """Give how many rows each select handles in a world, and in one twice as large."""
    folder = tmp_path_factory.mktemp("skewed")
    return tuple(handled(folder / str(times), WORLDS[request.param], times * FEW) for times in (1, 2))


@pytest.mark.slow
def test_no_select_pairs_the_rows_of_a_key(grown: tuple[dict[str, int], ...]) -> None:
    """Twice the orders are at most 2.3 times the rows; what pairs all with all is found by the same measure."""
    few, many = grown
    exponents = {each: math.log2(many[each] / few[each]) for each in few if few[each] >= LEAST}
    assert len(few) > 60
    pairs = exponents.pop("pairs", None)
    assert pairs is None or pairs > 1.8
    assert {each: round(found, 2) for each, found in exponents.items() if found > 1.2} == {}


@pytest.mark.slow
@pytest.mark.parametrize("grown", ["one of everything"], indirect=True)
def test_every_select_that_joins_a_large_relation_to_itself_is_measured(grown: tuple[dict[str, int], ...]) -> None:
    """A relation that is read twice in one select may be paired with itself."""
    twice = {table.name for table in catalogue.tables() if is_read_twice(table.sql)}
    assert len(twice) > 10
    assert sorted(twice - grown[1].keys()) == []
