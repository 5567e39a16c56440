"""Facts of a reconciliation for pages: breaks, the way from lines to totals, days, restatements and control totals.

What needs a decision is first, largest first.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import money
from pipelines.finance.reconciliation import UNPOSTED, Record
from pipelines.finance.released import records
from pipelines.landing.charges import CHARGES
from pipelines.report.arithmetic import total_rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.finance.reconciliation import Reconciliation

_CHARTS = 3  # currencies with a waterfall, of the first sale class
_PARTS = {charge.name: charge.label for charge in CHARGES if charge.part_of and charge.name != "subtotal_price"}
# As most totals are made, until orders or settings show the rule.
_SIGNS = {charge.name: charge.sign for charge in CHARGES}
_RULE = """
    select rule from audit.formula_populations where rule_target = 'total' and rule is not null
    order by order_count desc, population_no limit 1
"""
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


def reconciled_facts(reconciled: Reconciliation, most_breaks: int, most: int) -> dict[str, Any]:
    """Return the facts of each section by its name; at most so many breaks and restatements."""
    where = reconciled.selection.where("closed_business_date")
    return {
        "breaks": largest_breaks(reconciled, most_breaks),
        "break_count": reconciled.variances()["break"],
        **_waterfalls(reconciled),
        "control_totals": reconciled.control_total_variances(),
        "populations": reconciled.populations(),
        "restated_sums": reconciled.unposted_restatements(),
        "restated": records(reconciled.db, _RESTATEMENTS.format(unposted=UNPOSTED, where=where, most=most)),
    }


def largest_breaks(reconciled: Reconciliation, most: int) -> list[Record]:
    """Return the largest open breaks, of each currency in turn."""
    return records(reconciled.db, _BREAKS.format(where=reconciled.selection.where(), most=most))


def urgent_days(reconciled: Reconciliation) -> list[Record]:
    """Return the days: those with most breaks and unposted restatements first, then indeterminate orders, then late."""
    return sorted(reconciled.days(), key=_urgency)


def _urgency(day: Record) -> tuple[Any, ...]:
    date = day["business_date"]
    return (
        -(day["break_count"] + day["unposted_count"]),
        -day["indeterminate_count"],
        -(date.toordinal() if date else 0),
    )


def _waterfalls(reconciled: Reconciliation) -> dict[str, Any]:
    """Return the sums by currency and sale class, and a waterfall for the largest of the first class."""
    signs = _signs(reconciled)
    lines = sorted(
        reconciled.lines(),
        key=lambda line: (line["sale_class"] != "counted", -line["break_count"], -line["order_count"]),
    )
    charted = [line for line in lines if line["sale_class"] == lines[0]["sale_class"]][:_CHARTS]
    return {"lines": lines, "waterfalls": [{**line, "steps": _steps(line, signs)} for line in charted]}


def _steps(line: Mapping[str, Any], signs: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return each step from where the one before ended; sums begin at zero."""
    currency, known = line["currency"], Decimal(0)
    rows: list[dict[str, Any]] = []
    steps = [("line_amount", "lines", 0), ("unallocated_amount", "on no line", 1), ("subtotal_price", "subtotal", 0)]
    for field, name, sign in [*steps, *((field, name, signs[field]) for field, name in _PARTS.items() if signs[field])]:
        amount = line[field]
        if amount is None or (sign and not amount):
            continue
        before, added = (known, sign * amount) if sign else (Decimal(0), amount)
        known = before + added
        rows.append(_step(name, added, before, currency, "" if sign else "soft"))
    total, residual = line["total_price"], line["total_residual"]
    if total is not None:
        residual = residual or Decimal(0)
        rest = total - known - residual  # of orders with another rule or none, or without a part; of components
        if residual:
            rows.append(_step("residual", residual, known, currency, "red"))
        if rest:
            rows.append(_step("rest", rest, known + residual, currency))
        rows.append(_step("total", total, Decimal(0), currency, "soft"))
    return rows


def _step(name: str, amount: Decimal, start: Decimal, currency: str | None, colour: str = "") -> dict[str, Any]:
    return {
        "label": f"{name}  {money(amount, currency, is_signed=colour != 'soft')}",
        "start": start,
        "end": start + amount,
        "colour": colour or ("blue" if amount >= 0 else "orange"),
    }


def _signs(reconciled: Reconciliation) -> Mapping[str, int]:
    """Return the sign of each part in the total of most orders."""
    found = reconciled.db.execute(_RULE).fetchone()
    rule = total_rule(reconciled.db, found[0]) if found else None
    return {**_SIGNS, **(rule.signs if rule else {})}
