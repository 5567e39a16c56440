"""Write out the identities of an order: total from price fields, subtotal from lines, and the residuals.

Says by a rule's parameters which amounts are added. The sums are the release's, which its checks compare with the
rule.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from duckdb import DuckDBPyConnection

from pipelines.finance.reconciliation import Reconciliation
from pipelines.finance.released import money, records
from pipelines.landing.shape import CHARGES, OPTIONAL
from pipelines.report.text import counted, wrapped

Row = Mapping[str, Any]
Term = tuple[int, str]  # its sign and its text
_MINUS = "\N{MINUS SIGN}"
_ADDED, _LEFT_OUT = 0, 1  # what a rule does with modifiers of another action than add; 2 is subtracted
_SOURCES = {
    "configured": "configured in [formula]",
    "supported": "supported by the orders: workings.formula_evidence",
    "agreed": "all candidates that remain agree on this order: workings.formula_evidence",
    "assumed": "that of the observed order; too few orders to judge it yet",
    "closed": "that of its day when it was closed",
}
# What settings say of an order's prices.
_COMPONENTS = "from workings.order_components where order_id = ? order by component_no"
_NAMES = {charge.name: charge.label for charge in CHARGES}


@dataclass(frozen=True)
class RuleRounding:
    """What a rule rounds (each unit, each line or the order's sum), how, and to how many decimals; None: nothing."""

    per: str | None
    mode: str
    decimals: int | None

    def written(self, terms: str) -> str:
        """Return terms as this rounds their sum."""
        return terms if self.decimals is None else f"{self.description} of ({terms})"

    @property
    def description(self) -> str:
        """How it is done, in words."""
        return f"{self.mode.replace('_', ' ')} to {self.decimals} decimals"


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
    rounding: RuleRounding
    currency: str | None = None

    def line(self, line: Row, modifiers: Sequence[Row]) -> str:
        """Return the terms of a line's amount; price and quantities that the rule needs are stated."""
        quantity, terms, own = line["quantity"], self._terms(modifiers), money(line["price"], self.currency)
        if self.rounding.per == "unit":  # all that it adds is counted for each unit
            return f"{quantity} × {self.rounding.description} of ({signed([(1, own), *terms])})"
        if self.is_unit_price:
            own = f"{quantity} × {own}"
        if terms and self.is_per_unit:
            terms = [(1, f"{quantity} × ({signed(terms)})")]
        written = signed([(1, own), *terms])
        return self.rounding.written(written) if self.rounding.per == "line" else written

    def _terms(self, modifiers: Sequence[Row]) -> list[Term]:
        """Return sign and text of each modifier that counts."""
        others = {_ADDED: 1, _LEFT_OUT: 0}.get(self.others or 0, -1)
        terms: list[Term] = []
        for modifier in modifiers if self.counts_modifiers else ():
            sign = 1 if modifier["action"] == "add" else others
            if sign and modifier["price"]:
                text = money(modifier["price"], self.currency)
                terms.append((sign, f"{modifier['quantity']} × {text}" if self.by_own_quantity else text))
        return terms


@dataclass(frozen=True)
class TotalRule:
    """A total rule of audit.formula_rules: a sign for each part, 0 where it does not count."""

    rule: str
    sentence: str
    signs: Mapping[str, int]
    rounding: RuleRounding
    currency: str | None = None

    def total(self, order: Row, components: Sequence[Any] = (), step: Any = None) -> str:
        """Return the terms of a total, with the settings' amounts, `components`; it is a multiple of `step`."""
        parts = [(sign, order[part]) for part, sign in self.signs.items() if sign]
        parts += [(1, each) for each in components]
        written = signed((sign, money(each, self.currency)) for sign, each in parts)
        if any(amount is None for _, amount in parts):
            return written
        if step is not None:
            return f"({written}) to multiples of {money(step, self.currency)}"
        return self.rounding.written(written)


def signed(terms: Iterable[Term]) -> str:
    """Return terms with their signs between them, the first without a plus."""
    return " ".join(f"{'+' if sign > 0 else _MINUS} {term}" for sign, term in terms).removeprefix("+ ")


def line_rule(db: DuckDBPyConnection, rule: str | None, currency: str | None = None) -> LineRule | None:
    """Return a subtotal rule of the release's catalogue by its name, with its currency; None without one."""
    if (found := _found_rule(db, "subtotal", rule)) is None:
        return None
    price, counted, per_line, once, others, discount = found["rule_parameters"]
    return LineRule(
        found["rule"], found["rule_description"], price == 0, counted == 1, per_line == 0, once == 0, others,
        {0: 0, 1: -1, 2: 1}[discount],
        _rounding(found),
        currency,
    )  # fmt: skip


def total_rule(db: DuckDBPyConnection, rule: str | None, currency: str | None = None) -> TotalRule | None:
    """Return a total rule of the release's catalogue by its name, with its currency; None without one."""
    if (found := _found_rule(db, "total", rule)) is None:
        return None
    parts = [charge.name for charge in CHARGES if charge not in OPTIONAL]
    return TotalRule(
        found["rule"], found["rule_description"], dict(zip(parts, found["rule_parameters"], strict=True)),
        _rounding(found),
        currency,
    )  # fmt: skip


def _found_rule(db: DuckDBPyConnection, part: str, rule: str | None) -> dict[str, Any] | None:
    found = records(db, "from audit.formula_rules where rule_target = ? and rule = ?", [part, rule]) if rule else ()
    return next(iter(found), None)


def _rounding(row: Row) -> RuleRounding:
    return RuleRounding(row["rounded_per"], row["rounding_mode"] or "half_up", row["kept_decimals"])


def identities(db: DuckDBPyConnection, order: Row, checked: Row, rules: Row, lines: LineRule | None) -> Iterator[str]:
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
    numbers = [rules["total_population_no"], rules["subtotal_population_no"]]
    for target, scope, sentence in db.execute(evidence, numbers).fetchall():
        yield from wrapped(f"evidence for the {target}, {scope}: {sentence}", 2)
    reason = f"; {checked['reason']}" if checked["reason"] else ""
    yield from wrapped(f"verdict: {checked['verdict']}{reason}")


def _total(db: DuckDBPyConnection, order: Row, checked: Row, source: str) -> Iterator[str]:
    rule = total_rule(db, checked["total_rule"], order["currency"])
    yield from wrapped(beyond_parts(order), 2, 6)
    if rule is None:
        yield "  total: no rule is in force for this order"
        return
    components = records(db, _COMPONENTS, [order["order_id"]])
    added = [each for each in components if each["amount"] != 0 or not (each["price_factor"] or each["step"])]
    parts = [(sign, _NAMES[part]) for part, sign in rule.signs.items() if sign]
    names = signed([*parts, *((1, each["name"]) for each in added)])
    step = next((each["step"] for each in reversed(components) if each["step"]), None)
    written, amount = rule.total(order, [each["amount"] for each in added], step), checked["formula_total"]
    yield from wrapped(f"total = {names}", 2, 6)
    yield from wrapped(f"= {written}" + ("" if amount is None else f" = {money(amount, order['currency'])}"), 8)
    yield from _compared(order, checked, "total", 8)
    yield from _rule(rule, source, 8)


def _subtotal(db: DuckDBPyConnection, order: Row, checked: Row, rule: LineRule | None, source: str) -> Iterator[str]:
    if rule is None:
        yield from wrapped("subtotal: no rule is in force for this order, so its lines have no amounts", 2, 6)
        return
    if checked["subtotal_rule"] is None:
        yield from wrapped("subtotal: undecided, as the rules that remain differ on what this order contains", 2, 6)
        return
    currency, discount = order["currency"], order["discount"]
    query = "select line_amount from mart.order_lines where order_id = ? order by line_no"
    rows = db.execute(query, [order["order_id"]]).fetchall()
    terms = [(1, money(amount, currency)) for (amount,) in rows]
    if rule.discount_sign:
        terms.append((rule.discount_sign, money(discount, currency)))
    less = {-1: f" {_MINUS} discount", 0: "", 1: " + discount"}[rule.discount_sign]
    yield from wrapped(f"subtotal = {counted(len(rows), 'line', 'lines') if rows else 'no lines'}{less}", 2, 9)
    written, result = signed(terms), checked["formula_subtotal"]
    factors = [each for each in records(db, _COMPONENTS, [order["order_id"]]) if each["price_factor"]]
    if factors:
        written = f"({written}) / {factors[-1]['price_factor'].normalize():f}"
    if rule.rounding.per == "order":
        written = f"{rule.rounding.description} of ({written})"
    if rows:
        added = "" if result is None or (len(terms) == 1 and not factors) else f" = {money(result, currency)}"
        yield from wrapped(f"= {written}{added}", 11)
    yield from _compared(order, checked, "subtotal", 11)
    yield from _rule(rule, source, 11)


def _compared(order: Row, checked: Row, part: str, indent: int) -> Iterator[str]:
    currency, residual = order["currency"], checked[f"{part}_residual"]
    stated, cause = money(order[f"{part}_price"], currency), checked[f"{part}_likely_cause"]
    if residual is None:
        yield from wrapped(f"stated: {stated}; residual: indeterminate", indent)
        return
    likely = f"; likely cause: {cause}" if cause else ""
    yield from wrapped(f"stated {stated}, residual {money(residual, currency)}{likely}", indent)


def _rule(rule: LineRule | TotalRule, source: str, indent: int) -> Iterator[str]:
    yield from wrapped(f"rule: {rule.sentence}", indent)
    name = wrapped(rule.rule.replace("/", "/ "), indent + 2, 0)  # break long names after a slash
    yield from (line.replace("/ ", "/") for line in name)
    if source:
        yield from wrapped(source, indent + 2, 0)


RESIDUAL = "residual"
_PARTS = {charge.name: charge.label for charge in CHARGES if charge.part_of and charge.name != "subtotal_price"}
# As most totals are made, until orders or settings show the rule.
_SIGNS = {charge.name: charge.sign for charge in CHARGES}
_RULE = """
    select rule from audit.formula_populations where rule_target = 'total' and rule is not null
    order by order_count desc, population_no limit 1
"""
# Of orders whose total is known by their own rule: how much more often that counts a part than the rule of most.
_OTHERWISE = """
    select {parts} from mart.order_reconciliation as rows
    inner join audit.formula_rules as rules on rules.rule_target = 'total' and rules.rule = rows.total_rule
    where rows.currency is not distinct from ? and rows.sale_class = ? and rows.total_residual is not null and {where}
"""
_COMPONENT_SUMS = """
    select components.name, cast(sum(components.amount) as decimal(38, 4)) as amount
    from workings.order_components as components inner join mart.order_reconciliation as rows using (order_id)
    where rows.currency is not distinct from ? and rows.sale_class = ? and rows.total_residual is not null and {where}
        and components.component_no < 1000 -- those of charges are parts
        and components.price_factor is null and components.step is null -- which add nothing
    group by components.name order by components.name
"""


def beyond_parts(amounts: Row) -> str:
    """Say what a total has beyond its parts, as those of most services count, and its share of what was paid for."""
    required = [amounts[charge.name] for charge in CHARGES if charge not in OPTIONAL]
    if None in (*required, amounts["total_price"]):
        return "stated less parts: an amount is not stated"
    parts = sum((_SIGNS[name] * (amounts[name] or Decimal(0)) for name in _PARTS), amounts["subtotal_price"])
    beyond, currency = amounts["total_price"] - parts, amounts["currency"]
    base = amounts["subtotal_price"] - amounts["discount"] - amounts["loyalty_discount"]
    share = round(100 * beyond / base, 3).normalize() if base else 0
    said = f" = {share:f}% of the subtotal less all discounts ({money(base, currency)})" if share else ""
    return f"stated less parts: {money(beyond, currency)}{said}"


def bridge(reconciled: Reconciliation, line: Row) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    """Return what leads from the lines of orders to their subtotals, and from these to their totals, without zeros.

    Both tie: a start and its steps are the end. `line` is one of the reconciliation's; a sum that is null adds nothing.
    """
    found = reconciled.db.execute(_RULE).fetchone()
    rule = total_rule(reconciled.db, found[0]) if found else None
    signs = {**_SIGNS, **(rule.signs if rule else {})}
    parts = {name: signs[field] * (line[field] or Decimal(0)) for field, name in _PARTS.items() if signs[field]}
    ways = {"on no line": line["unallocated_amount"] or Decimal(0)}, parts | _rest(reconciled, line, signs, parts)
    to_subtotal, to_total = ({name: amount for name, amount in way.items() if amount} for way in ways)
    return to_subtotal, to_total


def _rest(
    reconciled: Reconciliation, line: Row, signs: Mapping[str, int], parts: Mapping[str, Decimal]
) -> dict[str, Decimal]:
    """Return what else leads to the total; `no rule` is what remains: of orders without a rule, or without a price."""
    where, of_line = reconciled.selection.where(), [line["currency"], line["sale_class"]]
    (row,) = records(reconciled.db, _OTHERWISE.format(where=where, parts=_part_sums(signs)), of_line)
    found = {f"{name}, by other rules": row[field] for field, name in _PARTS.items()}
    components = records(reconciled.db, _COMPONENT_SUMS.format(where=where), of_line)
    found |= {_component(each["name"], {**parts, **found}): each["amount"] for each in components}
    found[RESIDUAL] = line["total_residual"]
    known = sum((each or Decimal(0) for each in (line["subtotal_price"], *parts.values(), *found.values())), Decimal(0))
    found["no rule, or rounding"] = (line["total_price"] or Decimal(0)) - known
    return found


def _component(name: str, taken: Collection[str]) -> str:
    """Return the name of a component of the settings, which a charge may have, too."""
    return f"{name} (component)" if name in {*taken, RESIDUAL} else name


def _part_sums(signs: Mapping[str, int]) -> str:
    """Return the sums of how often the rules of orders count each part beyond the rule of most orders."""
    places = {charge.name: place for place, charge in enumerate(CHARGES, 1) if charge not in OPTIONAL}
    return ", ".join(
        f"sum((rules.rule_parameters[{places[field]}] - {signs[field]}) * rows.{field}) as {field}"
        if field in places
        else f"cast(0 as decimal(38, 4)) as {field}"
        for field in _PARTS
    )
