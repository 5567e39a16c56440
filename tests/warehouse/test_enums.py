"""Columns of listed words: what a word that is not listed leads to, in old files and new, and what readers get."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.inventory import accept
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.rows.fresh_rows import BuildBlocked, Making

if TYPE_CHECKING:
    from pipelines.warehouse.rows.fresh_rows import CheckResult

TABLE = catalogue.table("mart.daily_store_sales")
GOOD = {
    "store_id": 1,
    "business_date": "2026-11-01",
    "sale_class": "counted",
    "order_count": 1,
    "priced_order_count": 1,
    "incomplete_order_count": 0,
    "line_count": 1,
}


def made(rows: list[dict[str, Any]], store_id: str = '"store_id"') -> None:
    """Make the table of these rows, in an increment of its own."""
    types = {column.name: "VARCHAR" if column.words else column.type for column in TABLE.columns}
    with duckdb.connect(config={"threads": 1}) as con:
        for schema in ("raw", "fresh"):
            con.execute(f"create schema {schema}")
        names = [name for name in types if name in rows[0]]
        con.execute(f"create table given ({', '.join(f'{name} {types[name]}' for name in names)})")
        con.executemany(f"insert into given values ({', '.join('?' for _ in names)})", [list(r.values()) for r in rows])
        sql = f"select * replace ({store_id} as store_id) from given"
        making = Making(con, full=False)
        making.make(dataclasses.replace(TABLE, sql=sql, reads=catalogue.reads(sql)), None)
        making.tally.raise_if_blocked()


def blocked(rows: list[dict[str, Any]]) -> list[CheckResult]:
    """Return what keeps the table from being made of these rows."""
    with pytest.raises(BuildBlocked) as caught:
        made(rows)
    return caught.value.failed


@pytest.mark.slow
@pytest.mark.duckdb2
@pytest.mark.parametrize("full", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_word_that_is_not_listed_blocks_by_the_key_of_its_row(
    world: Any, make_order: Any, tmp_path: Any, *, full: bool
) -> None:
    """In a full build as in an increment, such a word breaks the contract; without the row, all goes on."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    world.build()
    before = world.contents()
    load_id = world.land("orders", [{"id": 2, "document": make_order(2)}], source="elsewhere")
    with pytest.raises(BuildBlocked) as caught:
        world.build(full=full)
    (failed,) = caught.value.failed
    assert (failed.name, failed.violations) == ("audit.loads__keeps_its_contract", 1)
    (place,) = failed.sample
    assert (place["load_id"], place["column"]) == (load_id, "source")
    assert "isin" in place["check"]
    assert world.contents() == before
    for file in world.data.rglob(f"{load_id}.parquet"):
        file.rename(tmp_path / f"{file.parent.parent.name}.parquet")
    accept(world.data)  # else the build names the missing files
    world.land("orders", [{"id": 3, "document": make_order(3)}])
    assert (world.build().full, world.rows("select order_id from core.orders order by all")) == (False, [(1,), (3,)])


@pytest.mark.duckdb2
def test_what_else_breaks_the_contract_is_told_with_it() -> None:
    """Nulls and repeated keys beside a word that is not listed are found with it; so is a column that is missing."""
    row = dict.fromkeys(column.name for column in TABLE.columns) | GOOD
    found = blocked([row, row, row | {"sale_class": "lent"}, row | {"store_id": 2, "order_count": None}])
    assert {(each.name, each.violations) for each in found} == {
        (f"{TABLE.name}__keeps_its_contract", 2),
        (f"{TABLE.name}__has_a_unique_key", 1),
    }
    places = [(place["store_id"], place["column"]) for place in found[0].sample]
    assert sorted(places) == [(1, "sale_class"), (2, "order_count")]
    (lacking,) = blocked([{name: value for name, value in row.items() if name != "sale_class"}])
    assert [place["column"] for place in lacking.sample] == ["sale_class"]


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        ({"store_id": 2, "order_count": None}, "keeps_its_contract"),
        ({"store_id": 2, "order_count": 0}, "keeps_its_contract"),
        ({"store_id": 2, "sale_class": "lent"}, "keeps_its_contract"),
        ({"line_count": 5}, "has_a_unique_key"),
    ],
)
def test_each_broken_claim_of_a_head_blocks(wrong: dict[str, Any], broken: str) -> None:
    """A null, a number out of bounds, a word that is not listed or a repeated key: one alone stops the build."""
    row = dict.fromkeys(column.name for column in TABLE.columns) | GOOD
    made([row, row | {"store_id": 2}])
    assert [(each.name, each.violations) for each in blocked([row, row | wrong])] == [(f"{TABLE.name}__{broken}", 1)]


def test_other_conversion_errors_are_raised_unchanged() -> None:
    """Where no word is at fault, DuckDB's own error goes up."""
    with pytest.raises(duckdb.ConversionException, match="many"):
        made([dict.fromkeys(column.name for column in TABLE.columns) | GOOD], "cast('many' as bigint)")


@pytest.mark.slow
def test_a_warehouse_of_texts_is_rebuilt(world: Any, make_order: Any) -> None:
    """A file that other contracts laid out, with texts for words, gives way to a full rebuild."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    world.build()
    made = world.contents()
    with duckdb.connect(str(warehouse_file(world.data))) as con:
        con.execute("alter table mart.orders alter sale_class type varchar")
        ((text,),) = con.execute("select fingerprint from build.memory").fetchall()
        con.execute(
            "update build.memory set fingerprint = ?",
            [json.dumps(json.loads(text) | {"the code that makes rows": "0"})],
        )
    result = world.build()
    assert (result.full, result.why) == (True, "the code that makes rows changed since the last build")
    ((kind,),) = world.rows("select column_type from (describe mart.orders) where column_name = 'sale_class'")
    assert kind.startswith("ENUM(")
    assert world.contents() == made


@pytest.mark.slow
@pytest.mark.duckdb2
def test_readers_find_words_in_the_file_and_texts_in_parquet(world: Any, make_order: Any) -> None:
    """A release's file lists the words of a column in its type; its Parquet has plain texts."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    folder = publish(world.settings, world.build()).path
    with duckdb.connect(str(folder / "ordermart.duckdb"), read_only=True) as con:
        for table in catalogue.release_tables():
            found = {row[0]: row[1] for row in con.execute(f"describe {table.name}").fetchall()}
            assert found == {column.name: column.type for column in table.columns}
        ((words,),) = con.execute("select enum_range(sale_class) from mart.orders").fetchall()
        assert words == ["counted", "deleted", "excluded", "unmapped"]
    (file,) = (folder / "parquet/mart/orders").rglob("*.parquet")
    assert pq.read_schema(file).field("sale_class").type == pa.string()
