"""Find the orders whose rows differ from before in a recomputed table, in the columns that a reader uses.

Many tables by day read the same few tables of orders, each other columns. So a table's fresh rows are laid over the
stored ones once, and what is kept is one flag a column: whether it differs.

Knows nothing of what follows from a difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.rows.views import between, changed_rows, columns_read

if TYPE_CHECKING:
    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.rows.views import Staged

_LONE = "stands on one side alone"


def changed_orders(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the orders of which rows of a table of orders differ from before in what `item` reads."""
    table = staged.catalogue[name]
    if not table.key or staged.sets[name] is None:
        return f"select distinct order_id from {changed_rows(staged, name, item)}"
    if name not in staged.compared:
        _compare(staged, table)
        staged.compared.add(name)
    differing = [f'"{_LONE}"', *(f'"{each}"' for each in columns_read(staged, name, item) if each not in table.key)]
    return f"select distinct order_id from {_differences(name)} where {' or '.join(differing)}"


def _differences(name: str) -> str:
    return f'touched."differences of {name}"'


def _compare(staged: Staged, table: Table) -> None:
    """Keep, for each row that differs from before in anything, in which columns it does."""
    keys = str(staged.sets[table.name])
    is_null = {column.name: column.nullable for column in table.columns}
    same = " and ".join(
        f'n."{part}" {"is not distinct from" if is_null[part] else "="} o."{part}"' for part in table.key
    )
    others = [column.name for column in table.columns if column.name not in table.key]
    flags = "".join(f', n."{each}" is distinct from o."{each}" as "{each}"' for each in others)
    differs = " or ".join(f'"{each}"' for each in (_LONE, *others))
    staged.con.execute(
        f"""
        create or replace table {_differences(table.name)} as
        from (
            select
                coalesce(n.order_id, o.order_id) as order_id,
                n.order_id is null or o.order_id is null as "{_LONE}"
                {flags}
            from fresh."{table.name}" as n
            full join (
                select t.* from warehouse.{table.name} as t
                where {between(staged.con, keys, "t.order_id", "order_id")}
                    and exists (select 1 from {keys} as k where k.order_id = t.order_id)
            ) as o on {same}
        )
        where {differs}
        """
    )
