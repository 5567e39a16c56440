"""The orders that a close writes, and their totals: of the close itself, or of every close of a period."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - a type's annotation
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.released import query
from pipelines.ledger import Closes
from pipelines.ledger.chain import select_rows
from pipelines.ledger.closed_days import CLOSED, CLOSED_ORDERS
from pipelines.warehouse.inputs.closes import day_closes

if TYPE_CHECKING:
    import duckdb

    from pipelines.finance.periods import Period
    from pipelines.finance.released import Released

Totals = tuple[tuple[str, int, str, Any], ...]  # sale class, order count, currency, total_price
_UNSTABLE = ["fetched_at", "last_checked_at"]  # differ once an order was fetched again, unchanged


def orders_to_close(release: Released, closes: Closes, unclosed: dict[dt.date, list[int] | None]) -> pa.Table:
    """Return the orders of the unclosed days and stores, in the shape of CLOSED_ORDERS."""
    # one row per day with store null for all of its stores; is_excluded: closed separately
    whole = [day for day, stores in unclosed.items() if stores is None]
    scope: list[tuple[dt.date, int | None, bool]] = [(day, None, False) for day in whole]
    scope += [(day, store, True) for day in whole for store in closes.separately_closed_stores(day)]
    scope += [(day, store, False) for day, stores in unclosed.items() for store in stores or ()]
    release.con.register(
        "close_scope",
        pa.table(
            {
                "business_date": pa.array([day for day, _, _ in scope], pa.date32()),
                "store_id": pa.array([store for _, store, _ in scope], pa.int64()),
                "is_excluded": pa.array([is_excluded for _, _, is_excluded in scope], pa.bool_()),
            }
        ),
    )
    return release.con.execute(query("orders_to_close")).to_arrow_table().cast(CLOSED_ORDERS)


def fingerprint(con: duckdb.DuckDBPyConnection, rows: pa.Table) -> str:
    """Return a fingerprint of orders, whatever their sequence and when they were last fetched."""
    con.register("drafted_orders", rows.drop_columns(_UNSTABLE))
    ((found,),) = con.execute(
        "select bit_xor(md5_number(cast(drafted as varchar))) from drafted_orders as drafted"
    ).fetchall()  # to its end, as `Released.has`
    con.unregister("drafted_orders")
    return f"{rows.num_rows}-{found}"


def totals(rows: pa.Table) -> Totals:
    """Return the totals of orders by sale class and currency."""
    grouped = rows.group_by(["sale_class", "currency"]).aggregate([("order_id", "count"), ("total_price", "sum")])
    return tuple(
        sorted(
            (row["sale_class"], row["order_id_count"], row["currency"] or "", row["total_price_sum"])
            for row in grouped.to_pylist()
        )
    )


def period_totals(release: Released, period: Period, store_id: int | None) -> Totals:
    """Return the totals of every active close of a period, whichever entries made them."""
    ledger = release.ledger
    files = [
        ledger.file(entry)
        for entry in ledger.entries(CLOSED)
        if any(
            period.first_day.isoformat() <= each["day"] <= period.last_day.isoformat() for each in entry.body["days"]
        )
    ]
    if not files:
        return ()
    con = release.con
    con.register("day_closes", day_closes(Closes(ledger.entries())))
    con.execute(f"create or replace temp view closed_orders as {select_rows(files, CLOSED_ORDERS.names)}")
    rows = con.execute(
        "select sale_class, count(*) as order_count, coalesce(currency, '') as currency, sum(total_price) "
        f"from ({query('active_closed_orders')}) where $store_id is null or store_id = $store_id "
        "group by all order by sale_class, order_count, currency",
        {"first_day": period.first_day, "last_day": period.last_day, "store_id": store_id},
    ).fetchall()
    return tuple((sale_class, count, currency, total) for sale_class, count, currency, total in rows)
