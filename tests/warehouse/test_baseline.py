"""What users see is as it was saved: tables, comments, keys, help, exit codes, settings."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.baseline.compared import compared, differences, meant, renamed, saved
from tests.baseline.facts import facts_of, left_out, read, written
from tests.baseline.parts import PARTS

if TYPE_CHECKING:
    from pathlib import Path

LONG = {"exits", "worlds", "chipotle", "demo"}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=[pytest.mark.long] if part in LONG else [pytest.mark.slow] if part == "small" else [])
        for part in PARTS
    ],
)
@pytest.mark.timeout(1800)
def test_nothing_differs_from_what_was_saved(part: str, tmp_path: Path) -> None:
    """Each part is as saved, but for what meant.txt declares; `python -m tests.baseline` says the same."""
    found = PARTS[part](tmp_path)
    if found is None:
        pytest.skip(f"the data of {part} are not beside this checkout")
    said = compared({part: found})
    assert not said, "\n".join(said)


@pytest.fixture
def published() -> duckdb.DuckDBPyConnection:
    """Give a database with a table, its key and its comments."""
    con = duckdb.connect()
    con.execute("create schema mart; create schema meta")
    con.execute("create table mart.sales as from (values (1, 'a', 2.5), (2, 'b', 3.5)) as t (id, name, price)")
    con.execute("comment on column mart.sales.price is 'What it costs.'")
    con.execute("create table meta.tables as from (values ('mart.sales', ['id'])) as t (table_name, key_columns)")
    return con


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("update mart.sales set price = 2.6 where id = 1", "mart.sales.price: values differ"),
        ("update mart.sales set name = if(id = 1, 'b', 'a')", "mart.sales.name: values differ"),
        ("comment on column mart.sales.price is 'Another.'", "mart.sales.price: comment differs"),
        ("comment on table mart.sales is 'Another.'", "mart.sales: comment differs"),
        ("alter table mart.sales alter price type double", "mart.sales.price: type is DOUBLE, was DECIMAL(2,1)"),
        ("alter table mart.sales drop name", "mart.sales.name: is gone"),
        ("alter table mart.sales add extra int", "mart.sales.extra: is new"),
        ("drop table mart.sales", "mart.sales: is gone"),
        ("create table mart.more (id int)", "mart.more: is new"),
    ],
)
def test_a_planted_difference_is_named(fault: str, said: str, published: duckdb.DuckDBPyConnection) -> None:
    """A changed value, two values in each other's row, a comment, a type, a column, a table and a key are named."""
    before = read(written(facts_of(published, "any")))
    published.execute(fault)
    found = [str(each) for each in differences("any", before, facts_of(published, "any"))]
    assert found == [f"any: {said}"]


def test_another_key_is_named(published: duckdb.DuckDBPyConnection) -> None:
    """A key of another column is named first; rows beside it are then others."""
    before = facts_of(published, "any")
    published.execute("update meta.tables set key_columns = ['name']")
    first, *_ = differences("any", before, facts_of(published, "any"))
    assert str(first) == "any: mart.sales: key is name, was id"


def test_a_rename_reads_the_old_names(published: duckdb.DuckDBPyConnection) -> None:
    """A renamed table and key compare as they were; the rename alone is declared."""
    before = facts_of(published, "any")
    published.execute("alter table mart.sales rename id to sale_id; alter table mart.sales rename to sold")
    published.execute("update meta.tables set table_name = 'mart.sold', key_columns = ['sale_id']")
    declared = meant(
        [
            "renamed | mart.sales.id | mart.sold.sale_id | ids have the name of their table",
            "renamed | mart.sales | mart.sold | a verb",
        ]
    )
    after = facts_of(published, "any")
    assert [str(each) for each in differences("any", renamed(before, declared.renamed), after)] == [
        "any: meta.tables.table_name: values differ",
        "any: meta.tables.key_columns: values differ",
    ]


def test_dropped_settings_and_changed_exit_codes_are_named() -> None:
    """So are a setting's default and a line of a command's help."""
    found = renamed(saved("settings"), meant().renamed)
    del found["closing.approver"]
    found["partner.max_attempts"]["default"] = "11"
    said = compared({"settings": found})
    assert said == ["settings: partner.max_attempts: default is 11, was 12", "settings: closing.approver: is gone"]
    found = renamed(saved("commands"), meant().renamed)
    rotate = found["ordermart vault rotate"]
    rotate["unknown option exit"], rotate["help"] = "1", rotate["help"].replace("is atomic", "is whole")
    first, second, *lines = "\n".join(compared({"commands": found})).split("\n")
    assert first == "commands: ordermart vault rotate: unknown option exit is 1, was 2"
    assert second == "commands: ordermart vault rotate: help differs"
    assert ["is whole" in line for line in lines] == [False, True]


def test_a_declared_difference_is_needed() -> None:
    """Declared differences are not said; needless declarations are, once all parts were compared."""
    found = {part: saved(part) for part in PARTS}
    del found["settings"]["closing.approver"]
    declared = ["changed | settings | closing.approver | gone | nobody approves", "changed | demo | x.* | values | a"]
    unused = "meant.txt: nothing differs any more as declared: demo | x.* | values"
    assert compared(found, meant(declared)) == [unused]
    assert compared({"settings": found["settings"]}, meant(declared)) == []
    with pytest.raises(ValueError, match="with its reason"):
        meant(["changed | demo | x | values"])


def test_what_is_not_compared_exists() -> None:
    """Each pattern of left_out.txt fits something that was saved."""
    items = [f"{part} {item}" for part in PARTS for item in saved(part)]
    assert [each for each in left_out() if not fnmatch.filter(items, f"{each.part} {each.pattern}")] == []
