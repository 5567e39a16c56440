"""Write out the arithmetic of a formula rule: its terms as text, and what they add up to, in exact decimals.

Computes the amounts from the rule's parameters, independently of the SQL that made the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any

from pipelines.finance.released import records
from pipelines.landing.charges import CHARGES, OPTIONAL
from pipelines.report.text import money

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

_EXACT = Context(prec=60)
_MINUS = "\N{MINUS SIGN}"
_ADDED, _LEFT_OUT = 0, 1  # what a rule does with modifiers of another action than add; 2 is subtracted


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
        with localcontext(_EXACT):
            if self.rounding.per == "unit":
                return self._by_unit(line, modifiers)
            price: Decimal = line["price"]
            quantity: int = line["quantity"]
            written, amount = (
                (f"{quantity} × {money(price, self.currency)}", quantity * price)
                if self.is_unit_price
                else (money(price, self.currency), price)
            )
            terms = [self._modifier(each) for each in modifiers if self.counts_modifiers and each["price"]]
            terms = [(sign, text, value) for sign, text, value in terms if sign]
            if terms:
                inner = " ".join(f"{'+' if sign > 0 else _MINUS} {text}" for sign, text, _ in terms)
                added = sum((sign * value for sign, _, value in terms), Decimal(0))
                if self.is_per_unit:
                    written += f" + {quantity} × ({inner.removeprefix('+ ')})"
                    amount += quantity * added
                else:
                    written += f" {inner}"
                    amount += added
            if self.rounding.per == "line" and self.rounding.decimals is not None:
                written = f"{self.rounding.description} of ({written})"
                amount = self.rounding.of(amount)
            return written, amount

    def _by_unit(self, line: Mapping[str, Any], modifiers: Sequence[Mapping[str, Any]]) -> tuple[str, Decimal]:
        """Return the terms of a line whose units are rounded one by one: all that it adds is counted for each unit."""
        terms = [self._modifier(each) for each in modifiers if self.counts_modifiers and each["price"]]
        terms = [(1, money(line["price"], self.currency), line["price"]), *(term for term in terms if term[0])]
        unit = self.rounding.of(sum((sign * value for sign, _, value in terms), Decimal(0)))
        inner = signed([(sign, text) for sign, text, _ in terms])
        return f"{line['quantity']} × {self.rounding.description} of ({inner})", line["quantity"] * unit

    def _modifier(self, modifier: Mapping[str, Any]) -> tuple[int, str, Decimal]:
        others = {_ADDED: 1, _LEFT_OUT: 0}.get(self.others or 0, -1)
        sign = 1 if modifier["action"] == "add" else others
        if self.by_own_quantity:
            return (
                sign,
                f"{modifier['quantity']} × {money(modifier['price'], self.currency)}",
                modifier["quantity"] * modifier["price"],
            )
        return sign, money(modifier["price"], self.currency), modifier["price"]


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

    def total(self, order: Mapping[str, Any], components: Sequence[Decimal | None] = ()) -> tuple[str, Decimal | None]:
        """Return the terms of an order's total and its amount, None where a part that counts is not stated.

        `components` are the amounts that the settings add to it.
        """
        used = {part: sign for part, sign in self.signs.items() if sign}
        written = signed(
            [(sign, money(order[part], self.currency)) for part, sign in used.items()]
            + [(1, money(each, self.currency)) for each in components]
        )
        if any(order[part] is None for part in used) or None in components:
            return written, None
        with localcontext(_EXACT):
            added = sum((each for each in components if each is not None), Decimal(0))
            amount = self.rounding.of(sum((sign * order[part] for part, sign in used.items()), added))
        if self.rounding.decimals is not None:
            written = f"{self.rounding.description} of ({written})"
        return written, amount


def signed(terms: Sequence[tuple[int, str]]) -> str:
    """Return terms with their signs between them, the first without a plus."""
    text = " ".join(f"{'+' if sign > 0 else _MINUS} {term}" for sign, term in terms)
    return text.removeprefix("+ ")


def line_rule(db: duckdb.DuckDBPyConnection, rule: str | None, currency: str | None = None) -> LineRule | None:
    """Return a subtotal rule of the release's catalogue by its name, with its currency; None without one."""
    found = _rule(db, "subtotal", rule)
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
    found = _rule(db, "total", rule)
    if found is None:
        return None
    parts = [charge.name for charge in CHARGES if charge not in OPTIONAL]
    return TotalRule(
        found["rule"], found["rule_description"], dict(zip(parts, found["rule_parameters"], strict=True)),
        _rounding(found),
        currency,
    )  # fmt: skip


def _rule(db: duckdb.DuckDBPyConnection, part: str, rule: str | None) -> dict[str, Any] | None:
    found = records(db, "from audit.formula_rules where rule_target = ? and rule = ?", [part, rule]) if rule else []
    return found[0] if found else None


def _rounding(row: Mapping[str, Any]) -> Rounding:
    return Rounding(row["rounded_per"], row["rounding_mode"] or "half_up", row["kept_decimals"])
