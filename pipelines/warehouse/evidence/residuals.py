"""Find the pattern of residuals: what the orders of a population have in common that its form does not fit.

Patterns are few: a constant, a share of a base, that share but at most or at least an amount, a step, and the like.
Each is tried with the values that a sample suggests: the commonest difference, the roundest share that most orders can
have. One that explains enough of the sample is counted over all orders, with the condition that tells those orders from
others, and the rounding of the share. It is what orders share, not what is right: settings have to name it.

    Orders of 12.00, 25.00, 40.00 and 55.00 are off by 1.20, 2.50, 3.00 and 3.00. A constant of 3.00 explains two, 10%
    of the subtotal the others. 10%, at most 3.00, explains all: a share below a subtotal of 30.00, else a constant.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import numpy as np

from pipelines.warehouse.catalogue.selects import filled
from pipelines.warehouse.evidence.verdicts import Forms

SAMPLE = 2_000  # orders in which a pattern is looked for
COMMON = 0.9  # the share of them that a pattern of a whole population has to explain
MOST = 0.5  # the share, if so many as distinguish a rule follow it among orders that differ by chance
_SIDE = 8  # orders of a sample that show the bound of a share, and that show the share; fewer of a small one
UNIT = 10_000  # amounts are compared in ten-thousandths
_SHARE = 1_000_000  # and shares in millionths
_STEPS = (10_000, 5_000, 1_000, 500)
BASES = (  # of base_of(); of those that explain the same the first
    *("discount_above_subtotal", "subtotal", "subtotal_less_discount", "subtotal_less_all_discounts"),
    *("subtotal_and_delivery", "subtotal_and_delivery_less_all_discounts"),
    *("delivery", "tip", "discount", "loyalty"),
)
_LIMITS = ("subtotal_price", "delivery_price", "unit_count", "line_count", "hour", "discount", "tip")  # of `when`
_ROUNDINGS = ("order", "line", "half_even", "down", "up")  # of a share; of those that explain the same the first
_ROUNDED = ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0))  # to the nearest unit, down and up: less and more by so many units


@dataclass(frozen=True, order=True)
class Residual:
    """What orders share, and, once they are counted, how many of a population follow it to the unit, of how many."""

    kind: str
    value: int = 0
    base: str = ""
    bound: int = 0  # the amount that a share of the base is at most, or at least
    fits: int = 0
    orders: int = 0
    reached_at: int = 0  # the base of which the share reaches its bound
    condition: str | None = None  # what those orders meet and no other: "" if all do, None if nothing tells them
    is_of_all: bool = False  # whether a step is that of all totals, also of those that the form fits
    rounding: str = ""  # of a share: one of _ROUNDINGS
    exact: int = 0  # how many orders it explains exactly, so rounded

    @property
    def amount(self) -> Decimal:
        """The value as an amount, or as a share."""
        return Decimal(self.value) / _SHARE if self.base else Decimal(self.value) / UNIT

    def within(self, parts: Any) -> Any:
        """Return shares of the base, and the bound for those that are beyond it."""
        return np.where((abs(parts) > abs(self.bound)) == (self.kind == "at_most"), self.bound, parts)

    def explains(self, sample: dict[str, Any]) -> Any:
        """Return by order of a sample whether it follows the pattern."""
        residual, stated = sample["residual"], sample["stated"]
        if self.base:
            return abs(residual - self.within(sample[self.base] * (self.value / _SHARE))) <= sample["unit"] + 1e-3
        return {
            "zero": stated == 0,
            "negated": (residual == 2 * stated) & (stated != 0),
            "constant": residual == self.value,
            "unit": abs(residual) <= sample["unit"],
            "step": (stated % max(self.value, 1) == 0) & (abs(residual) < self.value),
        }[self.kind]

    def in_sql(self, of: str = "") -> str:
        """Return the same as a condition on rows of off_orders."""
        if self.base:
            part, bound = f"{self.value} * {of}{self.base}::hugeint", f"{self.bound * _SHARE}::hugeint"
            part = f"if((abs({part}) > abs({bound})) = {self.kind == 'at_most'}, {bound}, {part})"
            return f"abs({of}residual * {_SHARE}::hugeint - {part}) <= {of}unit * {_SHARE}"
        return {
            "zero": f"{of}stated = 0",
            "negated": f"{of}residual = 2 * {of}stated and {of}stated <> 0",
            "constant": f"{of}residual = {self.value}",
            "unit": f"abs({of}residual) <= {of}unit",
            "step": f"{of}stated % {max(self.value, 1)} = 0 and abs({of}residual) < {self.value}",
        }[self.kind]


def find_residuals(con: duckdb.DuckDBPyConnection, target: str, least: int) -> dict[int, Residual]:
    """Return node → pattern of the leaves that have at least so many orders which their form does not fit."""
    con.execute("""
        create or replace temp table wanted as
        select facts.order_id, facts.node from facts
        inner join leaves on facts.node = leaves.node
        inner join texts on facts.pattern_no = texts.pattern_no
        where texts.fits[leaves.form_no] = '0'
    """)
    nodes = con.execute(f"select node from wanted group by node having count(*) >= {least} order by node").fetchall()
    if not nodes:
        return {}
    con.execute("delete from wanted where not list_contains(?, node)", [[node for (node,) in nodes]])
    bases = "\n".join(f"cast(any_value(base_of(orders, '{base}')) * {UNIT} as bigint) as {base}," for base in BASES)
    select = filled("residuals", unit=str(UNIT), lines=filled(f"{target}_lines"), bases=bases)
    con.execute(f"create or replace temp table off_orders as {select}")
    found = {}
    for (node,) in nodes:
        mine = f"from off_orders where node = {node}"
        sample = con.execute(f"{mine} order by hash(order_id), order_id limit {SAMPLE}").fetchnumpy()
        if pattern := find_pattern(sample, MOST):
            counts = f"select count(*) filter (where {pattern.in_sql()}), count(*)"
            ((fits, orders),) = con.execute(f"{counts} {mine}").fetchall()
            if fits >= max(MOST * orders, least):
                reached_at = pattern.bound and _reached_at(sample, pattern)
                counted = replace(pattern, fits=fits, orders=orders, reached_at=reached_at)
                if pattern.kind == "step" and target == "total":
                    stated = stated_totals(con, node, limit=f"limit {SAMPLE}")["stated"]
                    counted = replace(counted, is_of_all=bool((stated % pattern.value == 0).mean() >= COMMON))
                rounding, exact = _rounding(con, node, counted)
                found[node] = replace(counted, condition=_condition(con, node, counted), rounding=rounding, exact=exact)
    return found


def _reached_at(sample: dict[str, Any], found: Residual) -> int:
    """Return the least base, in the unit of amounts, of which the share reaches its bound."""
    unit = int(np.gcd.reduce(np.ma.filled(sample[found.base], 0), initial=int(sample["unit"].min())))
    return -(-found.bound * _SHARE // (found.value * unit)) * unit


def _rounding(con: duckdb.DuckDBPyConnection, node: int, found: Residual) -> tuple[str, int]:
    """Return how a share is rounded, and how many orders of a leaf it then explains exactly, its bound included."""
    if not found.base:
        return "", found.fits
    is_share = f"({found.base} < {found.reached_at}) = {found.kind == 'at_most'}" if found.bound else "true"
    of = {"node": str(node), "share": f"{found.amount:f}", "base": found.base, "unit": str(UNIT)}
    exact: dict[str, int] = {}
    for rounding in _ROUNDINGS:
        if rounding != "line" or (found.base == "subtotal" and exact["order"] < found.fits):
            mode = "half_up" if rounding == "order" else rounding
            template = {"line": "share_by_line"}.get(rounding, "share_by_order")
            select = filled(template, mode=mode, is_share=is_share, bound=str(found.bound), **of)
            exact[rounding] = (con.execute(select).fetchone() or (0,))[0]
    return max(exact.items(), key=lambda each: each[1])


def _condition(con: duckdb.DuckDBPyConnection, node: int, found: Residual) -> str | None:
    """Return the condition that the orders of a leaf that follow a constant or a share meet, and no other.

    An order without anything of the base tells nothing, nor does one that is off by something else.
    """
    if found.kind != "constant" and not found.base:
        return None
    tells = f"base_of(orders, '{found.base}') <> 0" if found.base and found.kind != "at_least" else "true"
    bounds = ", ".join(f"min(orders.{name}), max(orders.{name})" for name in _LIMITS)
    rows = con.execute(f"""
        select off_orders.order_id is not null as is_following, {bounds} from facts
        inner join mart.orders as orders on facts.order_id = orders.order_id
        left join off_orders on facts.order_id = off_orders.order_id
        where facts.node = {node} and {tells}
            and (off_orders.order_id is null or {found.in_sql("off_orders.")})
        group by is_following
    """).fetchall()
    sides = {is_following: ends for is_following, *ends in rows}
    if len(sides) == 1:
        return ""
    for place, name in enumerate(_LIMITS):
        (least, most), (other_least, other_most) = (sides[side][2 * place : 2 * place + 2] for side in (True, False))
        is_known = None not in (least, other_least)
        if is_known and most < other_least:
            return f"{name} < {_roundest(Decimal(most), Decimal(other_least))}"
        if is_known and least > other_most:
            return f"{name} >= {_roundest(Decimal(other_most), Decimal(least))}"
    return None


def _roundest(below: Decimal, up_to: Decimal) -> Decimal:
    """Return the roundest amount above the first and at most the second."""
    for digits, step in product(range(len(str(int(up_to))), -5, -1), (Decimal(1), Decimal("0.5"))):
        unit = step.scaleb(digits)
        found = (below // unit + 1) * unit
        if found <= up_to:
            return Decimal(f"{found.normalize():f}")
    return up_to


def stated_totals(con: duckdb.DuckDBPyConnection, node: int, columns: str = "", limit: str = "") -> dict[str, Any]:
    """Return the orders of a leaf as columns: the total that each states, its parts, and columns of facts if asked."""
    bases = "\n".join(f"cast(base_of(orders, '{base}') * {UNIT} as bigint) as {base}," for base in BASES)
    select = filled("stated_totals", unit=str(UNIT), node=str(node), columns=columns, bases=bases, limit=limit)
    return con.execute(select).fetchnumpy()


def residual_by(forms: Forms, form: int, sample: dict[str, Any]) -> Any:
    """Return by how much each order of a sample differs from what a total form makes."""
    parts = np.stack([sample[name] for name in ("subtotal", "delivery", "tip", "discount", "loyalty")])
    return sample["stated"] - np.array(forms.parameters[form]) @ parts


def simplest(forms: Forms, sample: dict[str, Any], most: int = 9) -> tuple[int, Residual] | None:
    """Return the simplest total form, and how nearly all orders differ from it."""
    tried = map(int, np.flatnonzero(forms.is_found & (forms.complexity <= most)))
    for form in sorted(tried, key=lambda place: (forms.complexity[place], place)):
        found = find_pattern(sample | {"residual": residual_by(forms, form, sample)})
        if found and found.kind not in ("step", "unit"):
            return form, found
    return None


def find_pattern(sample: dict[str, Any], common: float = COMMON) -> Residual | None:
    """Return the pattern that explains most of a sample, of equals the first; None if none explains that share."""
    if not sample["residual"].any():
        return None
    # an unknown base has no share
    sample = sample | {base: np.ma.filled(sample[base], 0) for base in BASES}
    ((constant, _),) = Counter(sample["residual"].tolist()).most_common(1)
    tried = [*map(Residual, ("zero", "negated", "unit")), Residual("constant", constant)]
    tried += [Residual("share", _share(sample, *each), each[0]) for each in product(BASES, _ROUNDED)]
    tried += [*(Residual("step", step) for step in _STEPS), *_bounded(sample, common)]
    fits = {each: int(each.explains(sample).sum()) for each in tried if each.value or not each.base}
    likely = [pattern for pattern, fit in fits.items() if fit >= common * len(sample["residual"])]
    return max(likely, key=lambda pattern: (_exact(sample, fits[pattern], pattern), fits[pattern]), default=None)


def _bounded(sample: dict[str, Any], common: float) -> Iterator[Residual]:
    """Yield shares that are at most, or at least, what is common where the base is largest, or smallest.

    Enough orders of either side are to show it, more than a unit from the bound, and most of each side to follow it.
    """
    enough = min(_SIDE, 2 + len(sample["residual"]) // 8)
    for base in BASES:
        held = np.flatnonzero(sample[base])
        places, quarter = held[np.argsort(sample[base][held], kind="stable")], len(held) // 4
        for kind, end in (("at_most", places[len(held) - quarter :]), ("at_least", places[:quarter])):
            ((bound, orders),) = Counter(sample["residual"][end].tolist()).most_common(1) or [(0, 0)]
            if not bound or orders < enough:
                continue
            rest = {name: column[sample["residual"] != bound] for name, column in sample.items()}
            for share in (_share(rest, base, rounded) for rounded in _ROUNDED):
                found = Residual(kind, share, base, bound)
                above = abs(sample[base] * (share / _SHARE)) - abs(bound)
                sides = above > 2 * sample["unit"], above < -2 * sample["unit"]
                follows = found.explains(sample)
                if share * bound > 0 and all(follows[side].sum() >= max(enough, common * side.sum()) for side in sides):
                    yield found


def _share(sample: dict[str, Any], base: str, rounded: tuple[float, float]) -> int:
    """Return the roundest share that most orders can have, so rounded; 0 for none."""
    held = sample[base] != 0
    amounts, residual = sample[base][held], sample["residual"][held]
    if not len(amounts):
        return 0
    unit = np.sign(residual) * sample["unit"][held]
    ends = np.stack([residual - rounded[0] * unit, residual + rounded[1] * unit]) / amounts
    ends = np.sort(ends, axis=0).ravel() * _SHARE
    order = np.argsort(ends, kind="stable")
    counts = np.cumsum(np.where(order < len(amounts), 1, -1))
    place = int(counts.argmax())
    # Amounts that were rounded twice agree on no share to the last digit: the roundest that nearly as many can have.
    fewer = np.flatnonzero(counts < 0.98 * counts[place])
    first, last = fewer[fewer < place].max(initial=-1) + 1, fewer[fewer > place].min(initial=len(counts) - 1)
    for least, most in ((place, place + 1), (first, last)):
        for step in (10_000, 1_000, 100, 10, 1):
            value = int(np.ceil(ends[order[least]] / step - 1e-9)) * step
            if value and value <= ends[order[most]] + 1e-6:
                return value
    return 0


def _exact(sample: dict[str, Any], fits: int, found: Residual) -> int:
    """Return how many orders of a sample follow a pattern exactly, its share rounded in the way that fits most."""
    if not found.base:
        return fits
    units = sample[found.base] * float(found.value) / (_SHARE * sample["unit"])
    size, nearly = abs(units), 1e-9
    ways = (np.floor(size + 0.5), np.rint(size), np.floor(size + nearly), np.ceil(size - nearly))
    made = (found.within(np.sign(units) * way * sample["unit"]) for way in ways)
    return max(int((sample["residual"] == each).sum()) for each in made)
