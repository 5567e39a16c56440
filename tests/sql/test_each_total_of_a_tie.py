"""Ties: each total that differs is found by itself, whatever its sign."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

SIDES = re.compile(r"\bboth_sides as \(\n.*?\n\)(?=\n\nselect)", re.DOTALL)
KEYS = re.compile(r"from both_sides\n *group by ([^\n]+)")
TYPES = {"business_date": "date", "store_id": "bigint"}


def totals() -> Iterator[tuple[str, str]]:
    """Yield each (tie, total) that must be zero."""
    for tie in catalogue.ties():
        if SIDES.search(tie.sql):
            sides = SIDES.search(tie.sql)
            columns = dict.fromkeys(re.findall(r" as (\w+)[, ]", sides[0])) if sides else {}
            yield from ((tie.name, each) for each in columns if f"sum({each})" in tie.sql[sides.end() :])


@pytest.mark.parametrize("amount", [1, -1])
@pytest.mark.parametrize(("name", "total"), list(totals()))
@pytest.mark.promise(12)
def test_one_total_that_differs_is_found(con: duckdb.DuckDBPyConnection, name: str, total: str, amount: int) -> None:
    """A row of which this total alone is not zero; without it nothing is found."""
    (tie,) = (each for each in catalogue.ties() if each.name == name)
    keys = found[1].split(", ") if (found := KEYS.search(tie.sql)) else []
    summed = set(re.findall(r"sum\((\w+)\)", tie.sql[SIDES.search(tie.sql).end() :]))  # type: ignore[union-attr]
    columns = {
        **{key: f"cast(null as {TYPES.get(key, 'varchar')}) as {key}" for key in keys},
        **{each: f"cast(0 as decimal(18, 4)) as {each}" for each in summed},
        "sums": "[cast(0 as decimal(38, 4)) for _ in range(6)] as sums",
    }
    for value in (0, amount):
        columns[total] = f"cast({value} as decimal(18, 4)) as {total}"
        sides = f"both_sides as (\nselect {', '.join(columns.values())}\n)"
        assert bool(con.execute(_alone(SIDES.sub(sides, tie.sql))).fetchall()) == bool(value)


def _alone(sql: str) -> str:
    """Return a select without the parts that it no longer reads: before both sides, which read tables."""
    start = re.search(r"^with ", sql, re.MULTILINE)
    assert start
    return f"with {sql[sql.index('both_sides as') :]}"
