"""Write out the identities of an order: total from price fields, subtotal from lines, and the residuals.

Computes the amounts from a rule's parameters in exact decimals, independently of the SQL that made the tables, and
reports any mismatch with the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any

from pipelines.finance.released import digits, money, records
from pipelines.landing.charges import CHARGES, OPTIONAL
from pipelines.report.text import MISMATCH, counted, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb


Term = tuple[int, str, Any]  # its sign, its text, and its amount
_EXACT = Context(prec=60)
_MINUS = "\N{MINUS SIGN}"
_ADDED, _LEFT_OUT = 0, 1  # what a rule does with modifiers of another action than add; 2 is subtracted
_SOURCES = {
    "configured": "configured in [formula]",
    "supported": "supported by the orders: audit.formula_evidence",
    "agreed": "all candidates that remain agree on this order: audit.formula_evidence",
    "assumed": "that of the observed order; too few orders to judge it yet",
    "closed": "that of its day when it was closed",
}
# What settings say of an order's prices.
_COMPONENTS = "from audit.order_components where order_id = ? order by component_no"
_NAMES = {charge.name: charge.label for charge in CHARGES}


@dataclass(frozen=True)
class LineRule:
    """A subtotal rule of audit.formula_rules, by its answers."""

    rule: str
    sentence: str
    is_unit_price: bool
    counts_modifiers: bool
    is_per_unit: bool
    by_own_quantity: bool
    others: int | None
    discount_sign: int
    """How often the subtotal counts the discount: -1 taken off, 1 added (sent as a negative), 0 not at all."""
    rounding: Rounding
    currency: str | None = None

    def line(self, line: Mapping[str, Any], modifiers: Sequence[Mapping[str, Any]]) -> tuple[str, Decimal]:
        """Return the terms of a line and its amount; price and quantities that the rule needs are stated."""
        quantity, terms = line["quantity"], self._terms(modifiers)
        own: Term = (1, money(line["price"], self.currency), line["price"])
        with localcontext(_EXACT):
            if self.rounding.per == "unit":  # all that it adds is counted for each unit
                unit = self.rounding.of(_added([own, *terms]))
                return f"{quantity} × {self.rounding.description} of ({signed([own, *terms])})", quantity * unit
            if self.is_unit_price:
                own = (1, f"{quantity} × {own[1]}", quantity * own[2])
            if terms and self.is_per_unit:
                terms = [(1, f"{quantity} × ({signed(terms)})", quantity * _added(terms))]
            written, amount = signed([own, *terms]), _added([own, *terms])
            return self.rounding.rounded(written, amount) if self.rounding.per == "line" else (written, amount)

    def _terms(self, modifiers: Sequence[Mapping[str, Any]]) -> list[Term]:
        """Return sign, text and amount of each modifier that counts."""
        others = {_ADDED: 1, _LEFT_OUT: 0}.get(self.others or 0, -1)
        terms: list[Term] = []
        for modifier in modifiers if self.counts_modifiers else ():
            sign = 1 if modifier["action"] == "add" else others
            if not sign or not modifier["price"]:
                continue
            text, amount = money(modifier["price"], self.currency), modifier["price"]
            if self.by_own_quantity:
                text, amount = f"{modifier['quantity']} × {text}", modifier["quantity"] * amount
            terms.append((sign, text, amount))
        return terms


@dataclass(frozen=True)
class Rounding:
    """What a rule rounds (each unit, each line or the order's sum), how, and to how many decimals; None: nothing."""

    per: str | None
    mode: str
    decimals: int | None

    def of(self, amount: Decimal) -> Decimal:
        """Return the amount rounded."""
        if self.decimals is None:
            return amount
        mode = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN, "down": ROUND_DOWN}[self.mode]
        return amount.quantize(Decimal(1).scaleb(-self.decimals), mode, _EXACT)

    def rounded(self, written: str, amount: Decimal) -> tuple[str, Decimal]:
        """Return the terms of an amount, and the amount, as this makes of them."""
        return (written, amount) if self.decimals is None else (f"{self.description} of ({written})", self.of(amount))

    @property
    def description(self) -> str:
        """How it is done, in words."""
        return f"{self.mode.replace('_', ' ')} to {self.decimals} decimals"


@dataclass(frozen=True)
class TotalRule:
    """A total rule of audit.formula_rules: a sign for each part, 0 where it does not count."""

    rule: str
    sentence: str
    signs: Mapping[str, int]
    rounding: Rounding
    currency: str | None = None

    def total(
        self, order: Mapping[str, Any], components: Sequence[Decimal | None] = (), step: Decimal | None = None
    ) -> tuple[str, Decimal | None]:
        """Return the terms of an order's total and its amount, None where a part that counts is not stated.

        `components` are the amounts that the settings add to it, and of `step` it is a multiple.
        """
        parts = [(sign, order[part]) for part, sign in self.signs.items() if sign]
        parts += [(1, each) for each in components]
        terms = [(sign, money(each, self.currency), each) for sign, each in parts]
        written = signed(terms)
        if any(amount is None for _, _, amount in terms):
            return written, None
        with localcontext(_EXACT):
            whole = _added(terms)
            if step is None:
                return self.rounding.rounded(written, whole)
            multiple = (whole / step).quantize(Decimal(1), ROUND_HALF_UP)
            return f"({written}) to multiples of {money(step, self.currency)}", step * multiple


def signed(terms: Iterable[Term]) -> str:
    """Return terms with their signs between them, the first without a plus."""
    text = " ".join(f"{'+' if sign > 0 else _MINUS} {term}" for sign, term, _ in terms)
    return text.removeprefix("+ ")


def _added(terms: Iterable[Term]) -> Decimal:
    with localcontext(_EXACT):
        return sum((sign * amount for sign, _, amount in terms), Decimal(0))


def line_rule(db: duckdb.DuckDBPyConnection, rule: str | None, currency: str | None = None) -> LineRule | None:
    """Return a subtotal rule of the release's catalogue by its name, with its currency; None without one."""
    found = _found_rule(db, "subtotal", rule)
    if found is None:
        return None
    price, counted, per_line, once, others, discount = found["rule_parameters"]
    return LineRule(
        found["rule"], found["rule_description"], price == 0, counted == 1, per_line == 0, once == 0, others,
        {0: 0, 1: -1, 2: 1}[discount],
        _rounding(found),
        currency,
    )  # fmt: skip


def total_rule(db: duckdb.DuckDBPyConnection, rule: str | None, currency: str | None = None) -> TotalRule | None:
    """Return a total rule of the release's catalogue by its name, with its currency; None without one."""
    found = _found_rule(db, "total", rule)
    if found is None:
        return None
    parts = [charge.name for charge in CHARGES if charge not in OPTIONAL]
    return TotalRule(
        found["rule"], found["rule_description"], dict(zip(parts, found["rule_parameters"], strict=True)),
        _rounding(found),
        currency,
    )  # fmt: skip


def _found_rule(db: duckdb.DuckDBPyConnection, part: str, rule: str | None) -> dict[str, Any] | None:
    found = records(db, "from audit.formula_rules where rule_target = ? and rule = ?", [part, rule]) if rule else []
    return found[0] if found else None


def _rounding(row: Mapping[str, Any]) -> Rounding:
    return Rounding(row["rounded_per"], row["rounding_mode"] or "half_up", row["kept_decimals"])


def identities(
    db: duckdb.DuckDBPyConnection,
    order: Mapping[str, Any],
    checked: Mapping[str, Any],
    rules: Mapping[str, Any],
    lines: LineRule | None,
) -> Iterator[str]:
    """Yield the lines of both identities, from an order's rows of mart.order_reconciliation and audit.order_rules."""
    sources = {part: _SOURCES.get(rules[f"{part}_basis"] or "", "") for part in ("total", "subtotal")}
    yield ""
    yield "Identities"
    yield from _total(db, order, checked, sources["total"])
    yield from _subtotal(db, order, checked, lines, sources["subtotal"])
    # what orders like this one show of both rules, a sentence each
    evidence = """
        select rule_target, scope, sentence from audit.formula_populations
        where population_no = if(rule_target = 'total', ?, ?) order by rule_target desc
    """
    for target, scope, sentence in db.execute(
        evidence, [rules["total_population_no"], rules["subtotal_population_no"]]
    ).fetchall():
        yield from wrapped(f"evidence for the {target}, {scope}: {sentence}", 2)
    reason = f"; {checked['reason']}" if checked["reason"] else ""
    yield from wrapped(f"verdict: {checked['verdict']}{reason}")


def _total(
    db: duckdb.DuckDBPyConnection, order: Mapping[str, Any], checked: Mapping[str, Any], source: str
) -> Iterator[str]:
    rule = total_rule(db, checked["total_rule"], order["currency"])
    if rule is None:
        yield "  total: no rule is in force for this order"
        return
    components = records(db, _COMPONENTS, [order["order_id"]])
    added = [each for each in components if each["amount"] != 0 or not (each["price_factor"] or each["step"])]
    parts = [(sign, _NAMES[part], None) for part, sign in rule.signs.items() if sign]
    names = signed([*parts, *((1, each["name"], None) for each in added)])
    step = next((each["step"] for each in reversed(components) if each["step"]), None)
    written, amount = rule.total(order, [each["amount"] for each in added], step)
    yield from wrapped(f"total = {names}", 2, 6)
    yield from wrapped(f"= {written}" + ("" if amount is None else f" = {money(amount, order['currency'])}"), 8)
    yield from _compared(order, checked, "total", amount, 8)
    yield from _rule(rule, source, 8)


def _subtotal(
    db: duckdb.DuckDBPyConnection,
    order: Mapping[str, Any],
    checked: Mapping[str, Any],
    rule: LineRule | None,
    source: str,
) -> Iterator[str]:
    if rule is None:
        yield from wrapped("subtotal: no rule is in force for this order, so its lines have no amounts", 2, 6)
        return
    if checked["subtotal_rule"] is None:
        yield from wrapped("subtotal: undecided, as the rules that remain differ on what this order contains", 2, 6)
        return
    currency, discount = order["currency"], order["discount"]
    rows = db.execute(
        "select line_amount from mart.order_lines where order_id = ? order by line_no", [order["order_id"]]
    ).fetchall()
    terms = [(1, money(amount, currency), amount) for (amount,) in rows]
    if rule.discount_sign:
        terms.append((rule.discount_sign, money(discount, currency), discount))
    result = _added(terms) if rows and all(amount is not None for _, _, amount in terms) else None
    less = {-1: f" {_MINUS} discount", 0: "", 1: " + discount"}[rule.discount_sign]
    yield from wrapped(f"subtotal = {counted(len(rows), 'line', 'lines') if rows else 'no lines'}{less}", 2, 9)
    written = signed(terms)
    factors = [each for each in records(db, _COMPONENTS, [order["order_id"]]) if each["price_factor"]]
    if factors:
        written = f"({written}) / {factors[-1]['price_factor'].normalize():f}"
        is_known = all(each["amount"] is not None for each in factors)  # whether they apply
        with localcontext(_EXACT):
            result = result / factors[-1]["price_factor"] if is_known and result is not None else None
        if rule.rounding.per != "order" and result is not None:
            stated = order["subtotal_price"]  # in the decimals of its currency, or those that it needs
            needed = 0 if stated is None else -int(stated.normalize().as_tuple().exponent)
            decimals = max(needed, 0) if currency is None else digits(currency)
            result = result.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    if rule.rounding.per == "order":
        written = f"{rule.rounding.description} of ({written})"
        result = None if result is None else rule.rounding.of(result)
    if rows:
        added = "" if result is None or (len(terms) == 1 and not factors) else f" = {money(result, currency)}"
        yield from wrapped(f"= {written}{added}", 11)
    yield from _compared(order, checked, "subtotal", result, 11)
    yield from _rule(rule, source, 11)


def _compared(
    order: Mapping[str, Any], checked: Mapping[str, Any], part: str, amount: Decimal | None, indent: int
) -> Iterator[str]:
    stated, currency = order[f"{part}_price"], order["currency"]
    if stated is None or amount is None:
        yield from wrapped(f"stated: {money(stated, currency)}; residual: indeterminate", indent)
        return
    residual, cause = checked[f"{part}_residual"], checked[f"{part}_likely_cause"]
    likely = f"; likely cause: {cause}" if cause else ""
    yield from wrapped(f"stated {money(stated, currency)}, residual {money(stated - amount, currency)}{likely}", indent)
    if stated - amount != residual:
        yield from wrapped(f"mart.order_reconciliation has {money(residual, currency)}: {MISMATCH}", indent)


def _rule(rule: LineRule | TotalRule, source: str, indent: int) -> Iterator[str]:
    yield from wrapped(f"rule: {rule.sentence}", indent)
    name = wrapped(rule.rule.replace("/", "/ "), indent + 2, 0)  # break long names after a slash
    yield from (line.replace("/ ", "/") for line in name)
    if source:
        yield from wrapped(source, indent + 2, 0)
