"""The sections about a reconciliation: breaks, rules, days, restatements and control totals.

What needs a decision is first, largest first. Knows nothing of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.control_totals import describe_total
from pipelines.finance.currencies import measured, money
from pipelines.finance.reconciliation import UNPOSTED, Record
from pipelines.finance.records import records
from pipelines.report.page.markup import Section, Table, paragraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.finance.reconciliation import Reconciliation

_POPULATIONS = 8
# The largest of each currency first, and of each measure: amounts of two currencies cannot be compared.
_BREAKS = """
    select order_id, business_date, rows.store_id, stores.name as store_name, rows.currency, total_residual,
        subtotal_residual, coalesce(total_likely_cause::varchar, subtotal_likely_cause::varchar) as likely_cause
    from open_breaks as rows left join core.stores as stores using (store_id)
    where {where}
    order by row_number() over (partition by rows.currency order by abs_residual desc, order_id),
        count(*) over (partition by rows.currency) desc, rows.currency nulls last
    limit {most}
"""
_RESTATEMENTS = """
    select order_id, closed_business_date, store_id, currency, measure, closed_amount, restatement_amount, cause
    from mart.restatements as rows where {unposted} and {where}
    order by row_number() over (partition by currency, measure order by abs(restatement_amount) desc, restatement_no),
        count(*) over (partition by currency, measure) desc, currency nulls last, measure
    limit {most}
"""


def largest_breaks(reconciled: Reconciliation, most: int) -> list[Record]:
    """Return the largest open breaks, of each currency in turn."""
    return records(reconciled.db, _BREAKS.format(where=reconciled.selection.where(), most=most))


def breaks_section(reconciled: Reconciliation, most: int) -> Section:
    """Return the open breaks, the largest first."""
    total = reconciled.variances()["break"]
    rows = largest_breaks(reconciled, most)
    table = Table(
        f"Open breaks ({total:,}), the largest of each currency first" if total else "Open breaks",
        ("order", "total residual", "subtotal residual", "currency", "likely cause", "day", "store"),
        [
            (
                row["order_id"],
                _residual(row, "total_residual"),
                _residual(row, "subtotal_residual"),
                row["currency"],
                (row["likely_cause"] or "–").replace("_", " "),
                row["business_date"] or "no day",
                _store(row),
            )
            for row in rows
        ],
        frozenset({0, 1, 2}),
        total,
        "ordermart breaks list",
        is_flat=True,
    )
    note = paragraph("The residual is the price that an order states less the one that its rule gives.", "soft")
    return Section("breaks", "Breaks", (table, *([note] if rows else [])), "bad" if total else "")


def rules_section(reconciled: Reconciliation) -> Section:
    """Return what orders show of the rules, a sentence for each population."""
    found = reconciled.populations()
    table = Table(
        "What all orders show of the rules",
        ("orders", "rule"),
        found[:_POPULATIONS],
        total=len(found),
        source="audit.formula_populations",
    )
    return Section("rules", "Rules", (table,))


def days_section(reconciled: Reconciliation, most: int) -> Section:
    """Return the days with breaks, indeterminate orders or unposted restatements, those with most first."""
    days = reconciled.days()
    urgent = sorted(days, key=_urgency)
    table = Table(
        "Days, those that need a decision first",
        (
            "day",
            "sale class",
            "orders",
            "breaks",
            "indeterminate",
            "unposted",
            "total price",
            "total residuals",
            "currency",
        ),
        [
            (
                day["business_date"] or "no day",
                day["sale_class"],
                f"{day['order_count']:,}",
                f"{day['break_count']:,}",
                f"{day['indeterminate_count']:,}",
                f"{day['unposted_count']:,}",
                money(day["total_price"], day["currency"]),
                money(day["total_residual"], day["currency"], is_signed=True),
                day["currency"],
            )
            for day in urgent[:most]
        ],
        frozenset({2, 3, 4, 5, 6, 7}),
        len(days),
        "from mart.daily_reconciliations",
        is_flat=True,
    )
    return Section("days", "Days", (table,))


def restatements_section(reconciled: Reconciliation, most: int) -> Section:
    """Return unposted restatements by currency and measure, and the largest of them."""
    sums = reconciled.unposted_restatements()
    total = sum(row["restatement_count"] for row in sums)
    by_measure = Table(
        "Unposted restatements",
        ("measure", "count", "sum", "currency"),
        [
            (
                row["measure"],
                f"{row['restatement_count']:,}",
                measured(row["measure"], row["restatement_amount"], row["currency"], is_signed=True),
                row["currency"] if row["measure"] != "order_count" else "",
            )
            for row in sums[:12]
        ],
        frozenset({1, 2}),
        len(sums),
        "ordermart restatements list",
    )
    query = _RESTATEMENTS.format(unposted=UNPOSTED, where=reconciled.selection.where("closed_business_date"), most=most)
    largest = Table(
        "The largest of each currency and measure first",
        ("order", "restated by", "currency", "measure", "cause", "closed day", "at close", "store"),
        [
            (
                row["order_id"],
                measured(row["measure"], row["restatement_amount"], row["currency"], is_signed=True),
                row["currency"] if row["measure"] != "order_count" else "",
                row["measure"].replace("_", " "),
                row["cause"].replace("_", " "),
                row["closed_business_date"],
                measured(row["measure"], row["closed_amount"], row["currency"]),
                row["store_id"],
            )
            for row in records(reconciled.db, query)
        ],
        frozenset({0, 1, 6}),
        total,
        "from mart.restatements",
        is_flat=True,
    )
    parts: Sequence[Table] = (by_measure, largest) if total else (by_measure,)
    return Section("restatements", "Restatements of closed days", parts, "warn" if total else "")


def control_totals_section(reconciled: Reconciliation, most: int) -> Section:
    """Return the control totals that do not tie out, a sentence each."""
    found = reconciled.control_total_variances()
    sentences = [(describe_total(total),) for total in found[:most]]
    table = Table(
        "Control totals that differ", ("control total",), sentences, total=len(found), source="audit.control_totals"
    )
    return Section("control-totals", "Control totals", (table,), "bad" if found else "")


def _urgency(day: Mapping[str, Any]) -> tuple[Any, ...]:
    date = day["business_date"]
    return (
        -(day["break_count"] + day["unposted_count"]),
        -day["indeterminate_count"],
        -(date.toordinal() if date else 0),
    )


def _store(row: Mapping[str, Any]) -> str:
    if row["store_id"] is None:
        return "none"
    return f"{row['store_name']} ({row['store_id']})" if row["store_name"] else str(row["store_id"])


def _residual(row: Mapping[str, Any], field: str) -> str:
    return money(row[field], row["currency"], is_signed=True) if row[field] else "–"
