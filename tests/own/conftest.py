"""A small folder with models: three orders of two people, published once with the models of `MODELS`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.contracts import head_of
from tests.privacy.conftest import World, copied, land

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sql.conftest import Run

SHIPPED = Path(__file__).resolve().parents[2] / "docs" / "models"

WEEKLY = """\
-- One row per week and currency with orders.
--
-- key: week, currency
--
-- week DATE null: The Monday.
-- order_count: How many.
select
    date_trunc('week', business_date)::date as week,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
group by all
"""
DAILY = """\
-- One row per business day.
--
-- key: business_date
select business_date, count(*) as order_count, sum(total_price) as total_price from mart.orders group by business_date
"""
BY_ORDER = """\
-- One row per order with lines.
--
-- key: order_id
select lines.order_id, any_value(orders.status) as status, count(*) as line_count
from core.order_lines as lines
inner join core.orders as orders using (order_id)
group by lines.order_id
"""
TOTAL = """\
-- One row: the total of all weeks.
select sum(total_price) as total_price from own.weekly
"""
MODELS = {"weekly": WEEKLY, "daily": DAILY, "by_order": BY_ORDER, "total": TOTAL}


def write(world: World, name: str, text: str) -> Path:
    """Write a file of models."""
    path = world.place / "models" / f"{name}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a folder of which a release with own tables is published."""
    world = World(tmp_path_factory.mktemp("own") / "place")
    land(world)
    for name, text in MODELS.items():
        write(world, name, text)
    world.publish()
    return world


@pytest.fixture
def own(first: World, tmp_path: Path) -> World:
    """Give a copy of one's own."""
    return copied(first, tmp_path / "place")


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with the schemas that models read, in UTC, and none of a build's macros."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("set timezone = 'UTC'")
        for schema in ("core", "mart", "own"):
            connection.execute(f"create schema {schema}")
        yield connection


@pytest.fixture
def run_model(con: duckdb.DuckDBPyConnection) -> Run:
    """Give `run_model("customers", {"mart.orders": [{…}]})`: the rows of a model of docs/models, sorted by its key.

    A given row may leave out columns: they are null. Key, types and bounds of the head hold.
    """

    def run(name: str, given: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        sql = (SHIPPED / f"{name}.sql").read_text("utf-8")
        head, tables = head_of(sql), catalogue.reads(sql).tables
        assert given.keys() <= set(tables)
        for table in tables:
            columns = ", ".join(f"{column.name} {column.type}" for column in catalogue.table(table).columns)
            con.execute(f"create or replace table {table} ({columns})")
            for row in given.get(table, []):
                marks = ", ".join("?" * len(row))
                con.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
        con.execute(f"create or replace table own.{name} as {sql}")
        relation = con.table(f"own.{name}")
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        assert {each.name: each.type for each in head.said if each.type} == {
            each.name: types[each.name] for each in head.said if each.type
        }
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        for each in head.said:
            values = [row[each.name] for row in rows]
            assert each.nullable or None not in values
            least, most = each.bounds or (None, None)
            known = [value for value in values if value is not None]
            assert least is None or all(value >= least for value in known)
            assert most is None or all(value <= most for value in known)
        key = head.names("key")
        assert len({tuple(row[part] for part in key) for row in rows}) == len(rows)
        return sorted(rows, key=lambda row: tuple((row[part] is None, row[part]) for part in key))

    return run


@pytest.fixture
def run_claim(con: duckdb.DuckDBPyConnection) -> Run:
    """Give `run_claim("customers__…", {"own.customers": [{…}], …})`: the violations that a check of docs/models finds.

    A table has the columns of its first row, and numbers are decimals.
    """

    def run(name: str, given: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        for table, rows in given.items():
            columns = ", ".join(
                f"{column} {'varchar' if isinstance(value, str) else 'decimal(38, 4)'}"
                for column, value in rows[0].items()
            )
            con.execute(f"create or replace table {table} ({columns})")
            for row in rows:
                con.execute(f"insert into {table} values ({', '.join('?' * len(row))})", list(row.values()))
        relation = con.sql((SHIPPED / "checks" / f"{name}.sql").read_text("utf-8"))
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    return run
