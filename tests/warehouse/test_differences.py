"""What a table reads of another, and nothing else, says whether and for which orders it is recomputed."""

from __future__ import annotations

import duckdb
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import reads
from pipelines.warehouse.increment import changed_orders, note_differences, reads_change
from pipelines.warehouse.rows.session import Staged

MODIFIERS = "core.order_line_modifiers"


def test_orders_changed_in_what_is_read() -> None:
    """Another action, a row more and a row less touch an order; another price does not where no price is read."""
    table = catalogue.table(MODIFIERS)
    with duckdb.connect() as con:
        con.execute("attach ':memory:' as warehouse")
        for schema in ("fresh", "touched", "warehouse.core"):
            con.execute(f"create schema {schema}")
        columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        for side in (f"warehouse.{MODIFIERS}", f'fresh."{MODIFIERS}"'):
            con.execute(f"create table {side} ({columns})")
        insert = "(order_id, line_no, modifier_no, action, price) values"
        con.execute(
            f"""
            insert into warehouse.{MODIFIERS} {insert}
                (1, 1, 1, 'add', 1), (2, 1, 1, 'add', 1), (3, 1, 1, 'add', 1), (3, 1, 2, null, 1), (4, 1, 1, null, 1),
                (5, 1, 1, 'add', 1), (9, 1, 1, 'add', 1)
            """
        )
        con.execute(
            f"""
            insert into fresh."{MODIFIERS}" {insert}
                (1, 1, 1, 'swap', 1), (2, 1, 1, 'add', 2), (3, 1, 1, 'add', 1), (4, 1, 1, null, 1),
                (5, 1, 1, 'add', 1), (5, 1, 2, 'add', 1), (6, 1, 1, 'add', 1)
            """
        )
        con.execute("create table touched.made as select unnest([1, 2, 3, 4, 5, 6]) as order_id")
        staged = Staged(con, {MODIFIERS: table}, full=False, sets={MODIFIERS: "touched.made"})
        note_differences(staged, table, 7)
        found = {
            name: sorted(con.execute(changed_orders(staged, MODIFIERS, catalogue.table(name))).fetchall())
            for name in ("workings.daily_vocabulary", "workings.daily_field_values")
        }
    assert found["workings.daily_vocabulary"] == [(1,), (3,), (5,), (6,)]
    assert found["workings.daily_field_values"] == [(1,), (2,), (3,), (5,), (6,)]


@pytest.mark.parametrize("keys", ["touched.made", None])
def test_only_differing_columns_affect_readers(keys: str | None) -> None:
    """A price that differs affects readers of prices alone; rows that are equal are as if they were not recomputed."""
    table = catalogue.table(MODIFIERS)
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    with duckdb.connect() as con:
        con.execute("attach ':memory:' as warehouse")
        for schema in ("fresh", "touched", "warehouse.core"):
            con.execute(f"create schema {schema}")
        con.execute("create table touched.made as select 1 as order_id")
        for side in (f"warehouse.{MODIFIERS}", f'fresh."{MODIFIERS}"'):
            con.execute(f"create table {side} ({columns})")
            con.execute(f"insert into {side} (order_id, line_no, modifier_no, price) values (1, 1, 1, 1)")
        staged = Staged(con, {MODIFIERS: table}, full=False, sets={MODIFIERS: keys})
        note_differences(staged, table, 1)
        assert MODIFIERS not in staged.sets
        con.execute(f'update fresh."{MODIFIERS}" set price = 2')
        staged.sets[MODIFIERS] = keys
        note_differences(staged, table, 1)
        assert staged.differing[MODIFIERS] == {"price"}
        assert not reads_change(staged, MODIFIERS, catalogue.table("workings.daily_vocabulary"))
        assert reads_change(staged, MODIFIERS, catalogue.table("mart.price_variances"))


@pytest.mark.parametrize(
    ("sql", "stars"),
    [
        ("with a as (select * from s.t) select b, (select c from s.u) from a, s.v", {"s.t"}),
        ("select o.* from (select a from s.o as o) as o", set()),
        ("select q.i from s.o as o, lateral (select o.* from s.p) as q", {"s.o"}),
        ("select hash(o) from s.o as o", {"s.o"}),
        ("select is_in_scope(r, o) from s.r as r inner join s.o as o on true", set()),
        ("from s.v union all by name select a from s.t", {"s.v"}),
        ("select a from s.t where b in (from s.u)", {"s.u"}),
    ],
)
def test_stars_and_whole_rows_read_all_columns(sql: str, stars: set[str]) -> None:
    """A star is about its own select; a row given to a function of a build is read by the names in that function."""
    found = reads(sql)
    assert found.stars == stars
    assert ("dispatch_method" in found.names) == ("is_in_scope" in sql)
