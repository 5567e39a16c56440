"""Write out the identities of an order: total from price fields, subtotal from lines, and the residuals.

Recomputes the sums and reports any mismatch with the release.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.released import records
from pipelines.landing.charges import CHARGES
from pipelines.report.arithmetic import LineRule, TotalRule, signed, total_rule
from pipelines.report.text import MISMATCH, counted, money, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

_OBSERVED = "observed/unrounded"
_SOURCES = {
    "configured": "configured in [formula]",
    "supported": "supported by the orders: audit.formula_evidence",
    "agreed": "all candidates that remain agree on this order: audit.formula_evidence",
    "assumed": "that of the observed order; too few orders to judge it yet",
    "closed": "that of its day when it was closed",
}
_NAMES = {charge.name: charge.label for charge in CHARGES}


def identities(
    db: duckdb.DuckDBPyConnection,
    tables: set[str],
    order: Mapping[str, Any],
    checked: Mapping[str, Any],
    lines: LineRule | None,
) -> Iterator[str]:
    """Yield the lines of both identities; `checked` is the order's row of mart.order_reconciliation."""
    sources = _sources(db, tables, order["order_id"])
    yield ""
    yield "Identities"
    components = _components(db, tables, order["order_id"])
    yield from _total(
        order, checked, total_rule(db, checked.get("total_rule", _OBSERVED), order["currency"]), sources, components
    )
    if "mart.order_lines" in tables:
        yield from _subtotal(db, order, checked, lines, sources)
    yield from _evidence(db, tables, order["order_id"])
    reason = f"; {checked['reason']}" if checked.get("reason") else ""
    yield from wrapped(f"verdict: {checked['verdict']}{reason}")


def _sources(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int) -> dict[str, str]:
    if "audit.order_rules" not in tables:
        return {}
    row = records(db, "from audit.order_rules where order_id = ?", [order_id])[0]
    return {part: _SOURCES.get(row[f"{part}_basis"] or "", "") for part in ("total", "subtotal")}


def _components(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int) -> list[tuple[str, Decimal | None]]:
    """Return name and amount of the components that settings add to an order's total."""
    if "audit.order_components" not in tables:
        return []
    rows = db.execute(
        "select name, amount from audit.order_components where order_id = ? order by component_no", [order_id]
    )
    return rows.fetchall()


def _evidence(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int) -> Iterator[str]:
    """Give what orders like this one show of both rules, a sentence each."""
    if not {"audit.formula_populations", "audit.order_rules"} <= tables:
        return
    for target, scope, sentence in db.execute(
        """
        select populations.rule_target, populations.scope, populations.sentence
        from audit.order_rules as rules
        inner join audit.formula_populations as populations
            on populations.population_no = if(
                populations.rule_target = 'total', rules.total_population_no, rules.subtotal_population_no
            )
        where rules.order_id = ?
        order by populations.rule_target desc
        """,
        [order_id],
    ).fetchall():
        yield from wrapped(f"evidence for the {target}, {scope}: {sentence}", 2)


def _total(
    order: Mapping[str, Any],
    checked: Mapping[str, Any],
    rule: TotalRule | None,
    sources: Mapping[str, str],
    components: list[tuple[str, Decimal | None]],
) -> Iterator[str]:
    if rule is None:
        yield "  total: no rule is in force for this order"
        return
    names = signed(
        [(sign, _NAMES[part]) for part, sign in rule.signs.items() if sign] + [(1, name) for name, _ in components]
    )
    written, amount = rule.total(order, [amount for _, amount in components])
    yield from wrapped(f"total = {names}", 2, 6)
    yield from wrapped(f"= {written}" + ("" if amount is None else f" = {money(amount, order['currency'])}"), 8)
    yield from _compared(
        order["total_price"], amount, checked["total_residual"], checked.get("total_likely_cause"), order["currency"]
    )
    yield from _rule(rule, sources.get("total"), 8)


def _subtotal(
    db: duckdb.DuckDBPyConnection,
    order: Mapping[str, Any],
    checked: Mapping[str, Any],
    rule: LineRule | None,
    sources: Mapping[str, str],
) -> Iterator[str]:
    if rule is None:
        yield from wrapped("subtotal: no rule is in force for this order, so its lines have no amounts", 2, 6)
        return
    if checked["subtotal_rule"] is None:
        yield from wrapped("subtotal: undecided, as the rules that remain differ on what this order contains", 2, 6)
        return
    rows = db.execute(
        "select line_amount from mart.order_lines where order_id = ? order by line_no", [order["order_id"]]
    ).fetchall()
    amounts = [amount for (amount,) in rows]
    terms = [(1, money(amount, order["currency"])) for amount in amounts]
    known = bool(amounts) and None not in amounts
    result = sum(amounts, Decimal(0)) if known else None
    if rule.discount_sign:
        terms.append((rule.discount_sign, money(order["discount"], order["currency"])))
        known = result is not None and order["discount"] is not None
        result = result + rule.discount_sign * order["discount"] if result is not None and known else None
    if rule.rounding.per == "order" and result is not None:
        result = rule.rounding.of(result)
    less = {-1: f" {chr(8722)} discount", 0: "", 1: " + discount"}[rule.discount_sign]
    yield from wrapped(f"subtotal = {counted(len(rows), 'line', 'lines') if rows else 'no lines'}{less}", 2, 9)
    written = signed(terms)
    if rule.rounding.per == "order":
        written = f"{rule.rounding.description} of ({written})"
    if rows:
        yield from wrapped(
            f"= {written}" + ("" if result is None or len(terms) == 1 else f" = {money(result, order['currency'])}"), 11
        )
    yield from _compared(
        order["subtotal_price"],
        result,
        checked["subtotal_residual"],
        checked.get("subtotal_likely_cause"),
        order["currency"],
        11,
    )
    yield from _rule(rule, sources.get("subtotal"), 11)


def _compared(
    stated: Decimal | None,
    amount: Decimal | None,
    residual: Decimal | None,
    cause: str | None,
    currency: str | None,
    indent: int = 8,
) -> Iterator[str]:
    if stated is None or amount is None:
        yield from wrapped(f"stated: {money(stated, currency)}; residual: indeterminate", indent)
        return
    recomputed = stated - amount
    likely = f"; likely cause: {cause}" if cause else ""
    yield from wrapped(f"stated {money(stated, currency)}, residual {money(recomputed, currency)}{likely}", indent)
    if recomputed != residual:
        yield from wrapped(f"mart.order_reconciliation has {money(residual, currency)}: {MISMATCH}", indent)


def _rule(rule: LineRule | TotalRule, source: str | None, indent: int) -> Iterator[str]:
    yield from wrapped(f"rule: {rule.sentence}", indent)
    name = wrapped(rule.rule.replace("/", "/ "), indent + 2, 0)  # break long names after a slash
    yield from (line.replace("/ ", "/") for line in name)
    if source:
        yield from wrapped(source, indent + 2, 0)
