"""Which orders a table that compares orders with each other computes anew, when some of them changed.

Orders are compared where they share some columns (customer, store, number of lines), which the table's contract names.
So the table is about the orders that changed, and those that share the columns with one of them as it was or as it is;
of these all are at hand, and none is compared with another.

Knows nothing of what comparing them finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.views import ORDERS, between

if TYPE_CHECKING:
    from pipelines.warehouse.catalogue import Check, Table
    from pipelines.warehouse.views import Staged


def orders_alike(staged: Staged, item: Table | Check) -> str | None:
    """Return the relation of orders that a table or check of scope alike is about; None: of none, but everything."""
    read = [name for name in item.depends_on if name in staged.sets]
    sets = [staged.sets[name] for name in read if staged.catalogue[name].scope in ORDERS]
    if staged.sources.intersection(item.depends_on) or len(sets) < len(read) or None in sets:
        return None
    con = staged.con
    relation = f'touched."{item.name}"'
    changed = (
        " union ".join(f"select order_id from {keys}" for keys in sets) or "select null::bigint as order_id limit 0"
    )
    con.execute(f"create or replace table {relation} as {changed}")
    shared = staged.catalogue[item.name].contract.grain().alike if item.name in staged.catalogue else ()
    if shared and sets:
        base = _base(staged, item, shared)
        columns = ", ".join(f"t.{column}" for column in shared)
        sides = [f"warehouse.{base}"] + ([f'fresh."{base}"'] if base in staged.sets else [])
        are_in = f"{between(con, relation, 't.order_id', 'order_id')} and t.order_id in (from {relation})"
        looks = " union ".join(f"select {columns} from {side} as t where {are_in}" for side in sides)
        same = " and ".join(f"t.{column} = looks.{column}" for column in shared)
        con.execute(
            f"""
            insert into {relation}
            select t.order_id from warehouse.{base} as t semi join ({looks}) as looks on {same}
            where t.order_id not in (from {relation})
            """
        )
    return relation


def _base(staged: Staged, item: Table | Check, shared: tuple[str, ...]) -> str:
    """Return the table that has the columns which orders share."""
    for name in item.depends_on:
        if name in staged.catalogue and {*shared} <= {column.name for column in staged.catalogue[name].columns}:
            return name
    raise ValueError(f"{item.name} reads no table with {', '.join(shared)}, by which its contract compares orders")
