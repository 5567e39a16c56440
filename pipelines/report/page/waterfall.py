"""The way from lines to totals as a waterfall, for each currency and sale class. Knows nothing of runs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import money
from pipelines.report.arithmetic import total_rule
from pipelines.report.page.markup import Chart, Section, Table, paragraph
from pipelines.report.text import NOT_STATED, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.finance.reconciliation import Reconciliation

_CHARTS = 3  # currencies with a chart, of the first sale class
_ROWS = 12
_PARTS = {
    "delivery_price": "delivery",
    "tip": "tip",
    "discount": "discount",
    "loyalty_discount": "loyalty discount",
}
# As most totals are made, until orders or settings show the rule.
_SIGNS = {"delivery_price": 1, "tip": 1, "discount": -1, "loyalty_discount": -1}
_RULE = """
    select rule from audit.formula_populations where rule_target = 'total' and rule is not null
    order by order_count desc, population_no limit 1
"""


def waterfall_section(reconciled: Reconciliation) -> Section:
    """Return a waterfall from lines to total for each currency and sale class, those with breaks first."""
    signs = _signs(reconciled)
    lines = sorted(
        reconciled.lines(),
        key=lambda line: (line["sale_class"] != "counted", -line["break_count"], -line["order_count"]),
    )
    charted = [line for line in lines if line["sale_class"] == lines[0]["sale_class"]][:_CHARTS]
    charts = [_waterfall(line, place, signs) for place, line in enumerate(charted)]
    table = Table(
        "By currency and sale class",
        ("currency", "sale class", "total price", "orders", "breaks", "indeterminate"),
        [
            (
                line["currency"] or NOT_STATED,
                line["sale_class"],
                money(line["total_price"], line["currency"]),
                f"{line['order_count']:,}",
                f"{line['break_count']:,}",
                f"{line['indeterminate_count']:,}",
            )
            for line in lines[:_ROWS]
        ],
        frozenset({2, 3, 4, 5}),
        len(lines),
        "ordermart reconcile",
    )
    note = paragraph(
        "Every step is a sum of what orders state, by the rule of most orders. The residual is what the orders' own "
        "rules leave unexplained; the rest is of orders with another rule or none, or without a price, and of "
        "components of the settings. Nothing is added across currencies or sale classes.",
        "soft",
    )
    return Section("reconciliation", "From lines to totals", (*charts, table, note))


def _waterfall(line: Mapping[str, Any], place: int, signs: Mapping[str, int]) -> Chart:
    currency, known = line["currency"], Decimal(0)
    rows: list[dict[str, Any]] = []
    steps = [("line_amount", "lines", 0), ("unallocated_amount", "on no line", 1), ("subtotal_price", "subtotal", 0)]
    for field, name, sign in [*steps, *((field, name, signs[field]) for field, name in _PARTS.items() if signs[field])]:
        amount = line[field]
        if amount is None or (sign and not amount):
            continue
        before = known if sign else 0
        known = known + sign * amount if sign else amount
        rows.append(_step(name, sign * amount if sign else amount, before, known, currency, is_sum=not sign))
    total, residual = line["total_price"], line["total_residual"]
    if total is not None:
        residual = residual or Decimal(0)
        rest = total - known - residual  # of orders with another rule or none, or without a part; of components
        if residual:
            rows.append(_step("residual", residual, known, known + residual, currency, kind="break"))
        if rest:
            rows.append(_step("rest", rest, known + residual, total, currency))
        rows.append(_step("total", total, 0, total, currency, is_sum=True))
    title = f"{line['sale_class'].capitalize()} orders, {currency or 'currency not stated'}"
    description = (
        f"Waterfall of {counted(line['order_count'], 'order', 'orders')}: {'; '.join(row['label'] for row in rows)}."
    )
    legend = [("blue", "added"), ("orange", "taken off"), ("red", "residual")]
    kinds = {row["kind"] for row in rows}
    shown = [entry for entry, kind in zip(legend, ("up", "down", "break"), strict=True) if kind in kinds]
    return Chart(f"waterfall-{place}", "waterfall", title, description, rows, shown)


def _step(
    name: str, amount: Any, start: Any, end: Any, currency: str | None, *, is_sum: bool = False, kind: str = ""
) -> dict[str, Any]:
    return {
        "label": f"{name}  {money(amount, currency, is_signed=not is_sum)}",
        "start": start,
        "end": end,
        "kind": "sum" if is_sum else kind or ("up" if amount >= 0 else "down"),
    }


def _signs(reconciled: Reconciliation) -> Mapping[str, int]:
    """Return the sign of each part in the total of most orders."""
    found = reconciled.db.execute(_RULE).fetchone()
    rule = total_rule(reconciled.db, found[0]) if found else None
    return rule.signs if rule else _SIGNS
