"""Find the orders that a change in a table of intervals affects: those created while its content differs.

Where a menu's price changes, an interval ends and another begins: two rows of the table differ, but what held before
that moment holds still. So rows are laid over each other, old against new, and only the stretches of time in which
the two differ are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.rows.views import between, columns_read, projected_rows_sql, sides

if TYPE_CHECKING:
    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.rows.views import Staged

CREATED = "created_at"


def clock_of(staged: Staged, item: Table | Check) -> str | None:
    """Return the table of orders by which `item` knows when an order was created; None where it does not ask."""
    for name in item.depends_on:
        if name.startswith("raw.") or staged.catalogue[name].scope != "order" or CREATED not in item.reads.names:
            continue
        if any(column.name == CREATED for column in staged.catalogue[name].columns):
            return name
    return None


def orders_within(staged: Staged, item: Table | Check, name: str, clock: str) -> list[str]:
    """Return selects of the orders that changed rows of `name`, a table of intervals, may touch."""
    con = staged.con
    spans, orders = f'touched."spans of {name}"', f'touched."created in spans of {name}"'
    con.execute(f"create or replace table {spans} as {_changed_spans(staged, name, item)}")
    con.execute(
        f"""
        create or replace table {orders} as
        select t.order_id, t.{CREATED} from ({projected_rows_sql(staged, clock)}) as t
        where t.{CREATED} >= (select min(span_from) from {spans})
            and t.{CREATED} < (select max(span_until) from {spans})
        """
    )
    near = between(con, orders, "t.order_id", "order_id")
    selects = []
    for own in item.depends_on:
        if own.startswith("raw.") or staged.catalogue[own].scope != "order":
            continue
        mine = {column.name for column in staged.catalogue[own].columns}
        selects += [
            f"""
            select t.order_id from ({projected_rows_sql(staged, own, near)}) as t
            inner join {orders} as o on t.order_id = o.order_id
            inner join (select distinct {shared}, span_from, span_until from {spans}) as s
                on t.{shared} = s.{shared} and o.{CREATED} >= s.span_from and o.{CREATED} < s.span_until
            """
            for shared in staged.catalogue[name].key
            if shared in mine
        ]
    return selects or [f"select order_id from {orders}"]


def _changed_spans(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the key of rows, and the stretches of time in which they say other than before."""
    table = staged.catalogue[name]
    since, until = table.contract.span or ("", "")
    said = ", ".join(f'"{each}"' for each in columns_read(staged, name, item) if each not in {since, until})
    key = ", ".join(f'"{each}"' for each in table.key if each not in {since, until})
    ends = f"coalesce({until}, cast('infinity' as timestamptz))" if until else "cast('infinity' as timestamptz)"
    events = " union all ".join(
        f"select {said}, {at} as at_time, {step} as step from {side}"
        for side, sign in zip(sides(staged, name, item), (1, -1), strict=True)
        for at, step in ((f"coalesce({since}, cast('-infinity' as timestamptz))", sign), (ends, -sign))
    )
    return filled("changed_spans", key=key, said=said, events=events)
