"""Find the orders for which a table that compares orders with each other is recomputed, when some of them changed.

Orders are compared when they share some columns (customer, store, number of lines) and are close in time; the table's
contract names both. Affected are the orders that changed, those close to one of them before or after the change, those
close to these, and so on: the chain is complete, and no order outside it is close to one inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.increment.differences import reads_change
from pipelines.warehouse.rows.views import ORDERS, between

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.contracts import ComparisonScope
    from pipelines.warehouse.rows.views import Staged


def compared_orders(staged: Staged, item: Table | Check) -> str | None:
    """Return the relation of orders that a table or check of scope comparison is about; None: all of them."""
    read = [name for name in item.depends_on if reads_change(staged, name, item)]
    sets = [staged.sets[name] for name in read if staged.catalogue[name].scope in ORDERS]
    if staged.sources.intersection(item.depends_on) or len(sets) < len(read) or None in sets:
        return None
    relation = f'touched."{item.name}"'
    nothing = "select cast(null as bigint) as order_id limit 0"
    changed = " union ".join(f"select order_id from {keys}" for keys in sets) or nothing
    staged.con.execute(f"create or replace table {relation} as {changed}")
    scope = staged.catalogue[item.name].contract.compares if item.name in staged.catalogue else None
    if scope and sets:
        base = _base(staged, item, scope)
        sides = [f"warehouse.{base}"] + ([f'fresh."{base}"'] if base in staged.sets else [])
        _add_chain(staged.con, relation, scope, sides)
    return relation


def _add_chain(con: duckdb.DuckDBPyConnection, relation: str, scope: ComparisonScope, sides: list[str]) -> None:
    """Add to a relation of orders those that are close to one of them, link by link; `sides` are old and new rows."""
    columns = ", ".join(f"t.{column}" for column in (*scope.columns, scope.clock))
    are_in = f"{between(con, relation, 't.order_id', 'order_id')} and t.order_id in (from {relation})"
    ends = " union ".join(f"select t.order_id, {columns} from {side} as t where {are_in}" for side in sides)
    con.execute(f"create or replace table touched.chain_ends as {ends}")
    same = " and ".join(f"t.{column} = e.{column}" for column in scope.columns)
    within = f"(select {scope.minutes} * interval 1 minute from raw.settings)"
    while True:
        con.execute(
            f"""
            create or replace table touched.chain_links as
            select t.order_id, {columns} from {sides[0]} as t
            where t.{scope.clock} >= (select min({scope.clock}) from touched.chain_ends) - {within}
                and t.{scope.clock} <= (select max({scope.clock}) from touched.chain_ends) + {within}
                and exists (
                    select 1 from touched.chain_ends as e
                    where {same}
                        and t.{scope.clock} <= e.{scope.clock} + {within}
                        and t.{scope.clock} >= e.{scope.clock} - {within}
                )
                and t.order_id not in (from {relation})
            """
        )
        found = con.execute(f"insert into {relation} select order_id from touched.chain_links").fetchone()
        if not found or not found[0]:
            return
        con.execute("create or replace table touched.chain_ends as from touched.chain_links")


def _base(staged: Staged, item: Table | Check, scope: ComparisonScope) -> str:
    """Return the table that has the columns by which orders are compared."""
    wanted = {*scope.columns, scope.clock}
    for name in item.depends_on:
        if name in staged.catalogue and wanted <= {column.name for column in staged.catalogue[name].columns}:
            return name
    raise ValueError(f"{item.name} reads no table with {', '.join(sorted(wanted))}, by which its contract compares")
