"""Control totals of a release that do not tie out, with stated and actual figures, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import money, money_of
from pipelines.finance.records import records

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pipelines.finance.selection import Selection


def untied_totals(db: duckdb.DuckDBPyConnection, selection: Selection) -> list[dict[str, Any]]:
    """Return the control totals that differ, or that cannot be compared, with the currency of their store."""
    return records(
        db,
        "select rows.*, sales.currency from audit.control_totals as rows left join ("
        "select store_id, max(currency) as currency from mart.daily_store_sales group by store_id"
        f") as sales on rows.store_id = sales.store_id where tie_out_status <> 'tied' and {selection.where()} "
        "order by rows.business_date, rows.store_id, rows.amount_field, rows.sale_classes",
    )


def describe_total(total: Mapping[str, Any]) -> str:
    """Return a control total in words: where, and the stated and actual figures if they differ."""
    where = f"{total['business_date']} store {total['store_id']} {total['amount_field']} ({total['sale_classes']})"
    if total["unknown_reason"]:
        return f"{where}: {total['unknown_reason']}"
    differences = []
    if total["order_count_variance"]:
        differences.append(f"{total['control_order_count']:,} orders stated, {total['actual_order_count']:,} actual")
    if total["amount_variance"]:
        currency = total["currency"]
        stated, actual = money(total["control_amount"], currency), money_of(total["actual_amount"], currency)
        differences.append(f"{stated} stated, {actual} actual")
    return f"{where}: {', '.join(differences)}"
