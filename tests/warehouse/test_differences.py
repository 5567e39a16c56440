"""What a table by day reads of orders, and nothing else, says which orders changed for it."""

from __future__ import annotations

import duckdb

from pipelines.warehouse import catalogue
from pipelines.warehouse.increment.differences import changed_orders
from pipelines.warehouse.rows.views import Staged

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
        found = {
            name: sorted(con.execute(changed_orders(staged, MODIFIERS, catalogue.table(name))).fetchall())
            for name in ("audit.daily_vocabulary", "audit.daily_field_values")
        }
    assert found["audit.daily_vocabulary"] == [(1,), (3,), (5,), (6,)]
    assert found["audit.daily_field_values"] == [(1,), (2,), (3,), (5,), (6,)]
