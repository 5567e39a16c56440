"""The conditions that a close records of a population, and those that the words of older closes state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance.released import population_conditions
from pipelines.ledger import CLOSED, Ledger
from pipelines.warehouse.inputs.relations import fill
from pipelines.warehouse.inputs.sources import closed_rules, closed_scopes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WEB = {"dimension": "platform", "is_other": False, "values": ["web"]}
RULE = {"rule_target": "total", "rule": "a", "verdict": "supported", "is_assumable": False, "open_parts": []}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with orders on five days."""
    with duckdb.connect() as opened:
        for schema in ("raw", "mart", "audit", "workings"):
            opened.execute(f"create schema {schema}")
        opened.execute(
            "create table mart.orders as select unnest([date '2026-10-01', '2026-10-03', '2026-10-04', '2026-10-07', "
            "'2026-10-08', null]) as business_date"
        )
        opened.execute(
            "create table workings.formula_divisions (rule_target varchar, node_no bigint, dimension varchar, "
            "part_no bigint, value varchar, is_rest boolean, child_no bigint)"
        )
        yield opened


def divide(con: duckdb.DuckDBPyConnection, node_no: int, dimension: str, part_no: int | None, *children: Any) -> None:
    """Add a division: children are (child_no, values), the rest first, which has no row per value."""
    for place, (child_no, values) in enumerate(children):
        for value in [None] if place == 0 else values:
            row = ["total", node_no, dimension, part_no, value, place == 0, child_no]
            con.execute("insert into workings.formula_divisions values (?, ?, ?, ?, ?, ?, ?)", row)


def test_a_population_has_the_conditions_of_all_divisions_above_it(con: duckdb.DuckDBPyConnection) -> None:
    """Its values, those of all others for the rest; what it holds; days as spans among those with orders."""
    divide(con, 0, "platform", None, (1, []), (2, ["web", None]), (3, ["ios"]))
    divide(con, 1, "tip", 4, (4, []), (5, ["0"]))
    divide(con, 2, "business_date", None, (6, []), (7, ["2026-10-03", "2026-10-04", "2026-10-08"]))
    found = {number: conditions for (_, number), conditions in population_conditions(con).items()}
    others = {"dimension": "platform", "is_other": True, "values": ["ios", "web", None]}
    web = {"dimension": "platform", "is_other": False, "values": ["web", None]}
    spans = [["2026-10-03", "2026-10-04"], ["2026-10-08", None]]
    assert found[3] == [{"dimension": "platform", "is_other": False, "values": ["ios"]}]
    assert found[4] == [others, {"part": "tip", "is_other": True, "values": ["0"]}]
    assert found[5] == [others, {"part": "tip", "is_other": False, "values": ["0"]}]
    assert found[6] == [web, {"dimension": "business_date", "is_other": True, "spans": spans}]
    assert found[7] == [web, {"dimension": "business_date", "is_other": False, "spans": spans}]


def test_an_order_with_a_rule_of_its_own_belongs_to_no_other_population(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """Rows of raw.closed_scopes: a population without known conditions has no rule either."""
    setting = {"dimension": "rule_setting", "is_other": False, "values": ["2"]}
    named = RULE | {"scope": "orders of [[formula.rule]] no. 2", "is_configured": True, "conditions": [setting]}
    usual = RULE | {"scope": "platform web", "is_configured": False, "conditions": [WEB]}
    nobody = {"dimension": "store_id", "is_other": False, "values": []}
    unknown = RULE | {"scope": "store 1", "is_configured": False, "conditions": [nobody]}
    Ledger(tmp_path / "ledger").append(CLOSED, {"days": [], "rules": [unknown, named, usual]})
    fill(con, "raw.closed_rules", closed_rules(tmp_path))
    fill(con, "raw.closed_scopes", closed_scopes(tmp_path))
    assert con.execute("select rule_no, basis from raw.closed_rules order by all").fetchall() == [
        (1, "configured"),
        (2, "supported"),
    ]
    scopes = con.execute("select rule_no, dimension, value, is_other from raw.closed_scopes order by all").fetchall()
    assert scopes == [(1, "rule_setting", "2", False), (2, "platform", "web", False), (2, "rule_setting", "2", True)]
