"""Find the trait of orders that a form does not fit, how amounts are rounded, and divide populations by such traits.

A rounding shows on orders whose prices have more decimals than their currency; a trait is a constant, a share, a step,
zero. Both ask for the exact amounts that forms give, out of the temporary tables facts (order_id, node) and leaves
(node, and what its form does).

A population that no total form explains is divided where each part differs from a form by its own constant or share:
two stores with two tax rates have no form in common; each of them is off by a share of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.evidence.populations import DAYS, DEPTH, DIMENSIONS, Division, divide_by, shares_of
from pipelines.warehouse.evidence.verdicts import NONE, fewest_fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import duckdb

    from pipelines.warehouse.evidence.populations import Population, Tree
    from pipelines.warehouse.evidence.verdicts import EvidenceThresholds, Floats, Forms, Ints


def create_leaves(con: duckdb.DuckDBPyConnection, target: str, forms: Mapping[int, int]) -> None:
    """Make the temporary table leaves from node → form place."""
    con.execute("create or replace temp table leaf_forms (node integer, form_no bigint)")
    con.executemany("insert into leaf_forms values (?, ?)", [(node, form + 1) for node, form in forms.items()])
    con.execute(
        "create or replace temp table leaves as select leaf_forms.*, forms.rule_parameters as parameters "
        "from leaf_forms inner join audit.formula_forms as forms "
        f"on forms.rule_target = '{target}' and leaf_forms.form_no = forms.form_no"
    )


UNROUNDED = 1  # rounding_no of audit.formula_rules


@dataclass(frozen=True)
class PopulationRounding:
    """The rounding of a population: rounding_no, on how many orders it shows, and its rivals that remain."""

    rounding_no: int
    orders: int
    fits: int
    rivals: int
    near: int = 0
    """How many orders a form fits but for rounding."""


def find_roundings(
    con: duckdb.DuckDBPyConnection, target: str, asked: EvidenceThresholds
) -> dict[int, PopulationRounding]:
    """Return node → rounding of the leaves that have orders whose amounts are rounded; reads facts and leaves."""
    con.execute(f"create or replace temp table wanted as select order_id from audit.{target}_patterns where is_rounded")
    if con.execute("select 1 from wanted limit 1").fetchone() is None:
        return {}
    rows = con.execute(filled("roundings", target=target, lines=filled(f"{target}_lines"))).fetchall()
    found: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    near: dict[int, int] = defaultdict(int)
    for node, fitting, number, near_number in rows:
        found[node][tuple(fitting)] = number
        near[node] += near_number
    return {node: replace(judge_rounding(each, asked), near=near[node]) for node, each in sorted(found.items())}


def judge_rounding(patterns: dict[tuple[int, ...], int], asked: EvidenceThresholds) -> PopulationRounding:
    """Judge the roundings given how many orders fit which of them; without one that holds, nothing is rounded."""
    orders = sum(patterns.values())
    fits: dict[int, int] = defaultdict(int)
    for fitting, number in patterns.items():
        for rounding in fitting:
            fits[rounding] += number
    least = fewest_fits(orders, asked.noise)
    leader = min(fits, key=lambda rounding: (-fits[rounding], rounding), default=UNROUNDED)
    if fits[UNROUNDED] >= least or fits[leader] < least:
        return PopulationRounding(UNROUNDED, orders, fits[UNROUNDED], 0)
    rivals = sum(not _is_beaten(patterns, leader, rival, asked) for rival in fits if rival != leader)
    return PopulationRounding(leader, orders, fits[leader], rivals)


def _is_beaten(patterns: dict[tuple[int, ...], int], leader: int, rival: int, asked: EvidenceThresholds) -> bool:
    won = sum(number for fitting, number in patterns.items() if leader in fitting and rival not in fitting)
    lost = sum(number for fitting, number in patterns.items() if rival in fitting and leader not in fitting)
    return won + lost >= asked.orders and won >= fewest_fits(won + lost, asked.noise)


Pattern = tuple[int, str, int, str]  # form, and kind, value, base of the difference
SAMPLE = 2_000  # orders in which a pattern is looked for
COMMON = 0.9  # the share of them that a pattern of a whole population has to explain
MOST = 0.5  # the share, if so many as distinguish a rule follow it among orders that differ by chance
_UNIT = 10_000  # amounts are compared in ten-thousandths
_STEPS = (10_000, 5_000, 1_000, 500)
_FIELDS = {
    "subtotal": "subtotal_price",
    "subtotal_less_discount": "subtotal_price",
    "delivery": "delivery_price",
    "tip": "tip",
    "discount": "discount",
    "loyalty": "loyalty_discount",
}


@dataclass(frozen=True)
class Residual:
    """A pattern: kind, its value in ten-thousandths, the base of a share, how many orders, the condition they meet."""

    kind: str
    value: int
    base: str
    fits: int
    orders: int
    condition: str = ""
    is_of_all: bool = True
    """Whether a step is that of all totals, also of those that the form fits."""

    @property
    def amount(self) -> Decimal:
        """The value as an amount, or as a share."""
        return Decimal(self.value) / _UNIT


def find_residuals(con: duckdb.DuckDBPyConnection, target: str, least: int) -> dict[int, Residual]:
    """Return node → pattern of the leaves that have at least so many orders which their form does not fit."""
    con.execute("""
        create or replace temp table wanted as
        select facts.order_id, facts.node
        from facts
        inner join leaves on facts.node = leaves.node
        inner join texts on facts.pattern_no = texts.pattern_no
        where texts.fits[leaves.form_no] = '0'
    """)
    nodes = con.execute(f"select node from wanted group by node having count(*) >= {least} order by node").fetchall()
    if not nodes:
        return {}
    listed = ", ".join(str(node) for (node,) in nodes)
    con.execute(f"delete from wanted where node not in ({listed})")
    select = filled("residuals", unit=str(_UNIT), lines=filled(f"{target}_lines"))
    con.execute(f"create or replace temp table off_orders as {select}")
    found = {}
    for (node,) in nodes:
        sample = con.execute(
            f"from off_orders where node = {node} order by hash(order_id), order_id limit {SAMPLE}"
        ).fetchnumpy()
        if pattern := _pattern(sample, MOST):
            row = con.execute(
                f"select count(*) filter (where {_condition(*pattern)}), count(*) from off_orders where node = {node}"
            ).fetchone()
            fits, orders = row or (0, 0)
            if fits >= max(MOST * orders, least):
                is_of_all = pattern[0] != "step"
                if pattern[0] == "step" and target == "total":
                    stated = stated_totals(con, node, limit=f"limit {SAMPLE}")["stated"]
                    is_of_all = bool((stated % pattern[1] == 0).mean() >= COMMON)
                found[node] = Residual(*pattern, fits, orders, _limit(con, node, *pattern), is_of_all)
    return found


def _limit(con: duckdb.DuckDBPyConnection, node: int, kind: str, value: int, base: str) -> str:
    """Return the condition that the orders of a leaf that follow a constant or a share meet, and no other; "" if none.

    An order without anything of the base tells nothing, nor does one that is off by something else.
    """
    if kind not in ("constant", "share"):
        return ""
    tells = f"abs(orders.{_FIELDS[base]}) > 0" if base else "true"
    for name in ("subtotal", "delivery"):
        field = f"orders.{_FIELDS[name]}"
        rows = con.execute(f"""
            select
                off_orders.order_id is not null as is_following,
                min({field}), max({field}), count(*)
            from facts
            inner join mart.orders as orders on facts.order_id = orders.order_id
            left join off_orders on facts.order_id = off_orders.order_id
            where
                facts.node = {node}
                and {tells}
                and (off_orders.order_id is null or {_condition(kind, value, base, "off_orders.")})
            group by is_following
        """).fetchall()
        sides = {row[0]: row[1:3] for row in rows}
        if len(sides) == 2 and None not in (*sides[True], *sides[False]):
            (least, most), (other_least, other_most) = sides[True], sides[False]
            if most < other_least:
                return f"{_FIELDS[name]} < {_roundest(most, other_least)}"
            if least > other_most:
                return f"{_FIELDS[name]} >= {_roundest(other_most, least)}"
    return ""


def _roundest(below: Decimal, up_to: Decimal) -> Decimal:
    """Return the roundest amount above the first and at most the second."""
    for digits in range(len(str(int(up_to))), -5, -1):
        for step in (Decimal(1), Decimal("0.5")):
            unit = step.scaleb(digits)
            found = (below // unit + 1) * unit
            if found <= up_to:
                return Decimal(f"{found.normalize():f}")
    return up_to


def stated_totals(con: duckdb.DuckDBPyConnection, node: int, columns: str = "", limit: str = "") -> dict[str, Any]:
    """Return the orders of a leaf as columns: the total that each states, its parts, and columns of facts if asked."""
    select = filled("stated_totals", unit=str(_UNIT), node=str(node), columns=columns, limit=limit)
    return con.execute(select).fetchnumpy()


def residual_by(forms: Forms, form: int, sample: dict[str, Any]) -> Any:
    """Return by how much each order of a sample differs from what a total form makes."""
    parts = np.stack([sample[name] for name in ("subtotal", "delivery", "tip", "discount", "loyalty")])
    return sample["stated"] - np.array(forms.parameters[form]) @ parts


def simplest(forms: Forms, sample: dict[str, Any], most: int = 9) -> Pattern | None:
    """Return the simplest total form, and how nearly all orders differ from it."""
    found_forms = map(int, np.flatnonzero(forms.is_found))
    for form in sorted(found_forms, key=lambda place: (forms.complexity[place], place)):
        if forms.complexity[form] > most:
            break
        found = _pattern(sample | {"residual": residual_by(forms, form, sample)})
        if found and found[0] != "step":
            return form, *found
    return None


def _pattern(sample: dict[str, Any], common: float = COMMON) -> tuple[str, int, str] | None:
    """Return the pattern that explains most of a sample, of equals the first; None if none explains that share."""
    if not sample["residual"].any():
        return None
    fits = {pattern: int(explained(sample, *pattern).sum()) for pattern in _candidates(sample)}
    best = max(fits, key=lambda pattern: fits[pattern])
    return best if fits[best] >= common * len(sample["residual"]) else None


def _candidates(sample: dict[str, Any]) -> Iterable[tuple[str, int, str]]:
    yield "zero", 0, ""
    yield "negated", 0, ""
    constant, _ = Counter(sample["residual"].tolist()).most_common(1)[0]
    yield "constant", int(constant), ""
    for base in _FIELDS:
        amounts = sample[base]
        if (amounts != 0).mean() >= COMMON:
            share = np.median(sample["residual"][amounts != 0] / amounts[amounts != 0])
            for digits in (2, 3, 4):
                value = round(float(np.round(share, digits)) * _UNIT)
                if value:
                    yield "share", value, base
    yield from (("step", step, "") for step in _STEPS)


def explained(sample: dict[str, Any], kind: str, value: int, base: str) -> Any:
    """Return by order of a sample whether it follows a pattern."""
    residual, stated = sample["residual"], sample["stated"]
    if kind == "zero":
        return stated == 0
    if kind == "negated":
        return (residual == 2 * stated) & (stated != 0)
    if kind == "constant":
        return residual == value
    if kind == "share":
        return abs(residual * _UNIT - value * sample[base]) <= sample["unit"] * _UNIT
    return (stated % value == 0) & (abs(residual) < value)


def _condition(kind: str, value: int, base: str, of: str = "") -> str:
    return {
        "zero": f"{of}stated = 0",
        "negated": f"{of}residual = 2 * {of}stated and {of}stated <> 0",
        "constant": f"{of}residual = {value}",
        "share": f"abs({of}residual * {_UNIT}::hugeint - {value} * {of}{base or 'subtotal'}::hugeint) "
        f"<= {of}unit * {_UNIT}",
        "step": f"{of}stated % {max(value, 1)} = 0 and abs({of}residual) < {value}",
    }[kind]


_SIMPLE = 2  # of forms that are tried: how many parts they count another way
_BLOCKS = 24  # of orders of one dimension that are looked at
_SAMPLE = 200  # orders of a block


def divide_by_residuals(tree: Tree) -> None:
    """Divide leaves as far as parts of enough orders are explained exactly."""
    active = [node for node in tree.nodes if not node.dimension]
    while active:
        children: list[Population] = []
        for node in active:
            judged = node.judgement
            if judged is None or judged.verdict != NONE or node.setting_no is not None or node.depth >= DEPTH:
                continue
            columns = ", ".join(f"facts.{dimension} as at_{dimension}" for dimension in DIMENSIONS) + ","
            orders = stated_totals(tree.con, node.no, columns)
            enough = len(orders["stated"]) >= 2 * tree.asked.orders
            if enough and not simplest(tree.forms, _some(orders, slice(_SAMPLE))):
                division = _division(tree.forms, orders, tree.asked)
                children += tree.divide(node, division) if division else []
        tree.judge(children)
        active = children


def _division(forms: Forms, orders: dict[str, Any], asked: EvidenceThresholds) -> Division | None:
    """Return the division that explains most orders."""
    found = {pattern for block in _blocks(orders, asked) if (pattern := simplest(forms, block, _SIMPLE))}
    if not found:
        return None
    fits = np.stack([_explained(forms, orders, pattern) for pattern in sorted(found)], axis=1).astype(np.float64)
    best: Division | None = None
    for dimension in DIMENSIONS:
        values, cell = np.unique(orders[f"at_{dimension}"], return_inverse=True)
        counts: Ints = np.bincount(cell, minlength=len(values)).astype(np.int64)
        sums: Floats = np.stack([np.bincount(cell, weights=fit, minlength=len(values)) for fit in fits.T], axis=1)
        places = range(len(values))
        division = divide_by(dimension, places, sums, counts, shares_of(asked.noise, is_closed=False))
        if division and _is_exact(division, sums, counts, asked) and (best is None or division.saved > best.saved):
            groups = [[int(values[place]) for place in group] for group in division.groups]
            best = replace(division, groups=groups)
    return best


def _is_exact(division: Division, sums: Floats, counts: Any, asked: EvidenceThresholds) -> bool:
    """Tell whether each part has enough orders, and any is explained by one pattern."""
    shares = [(counts[group].sum(), sums[group].sum(axis=0).max()) for group in division.groups]
    return all(orders >= asked.orders for orders, _ in shares) and any(
        fits >= max(COMMON, 1 - asked.noise) * orders for orders, fits in shares
    )


def _blocks(orders: dict[str, Any], asked: EvidenceThresholds) -> Iterator[dict[str, Any]]:
    """Yield orders that may share a pattern: those of one value, or of days that follow each other."""
    for dimension in DIMENSIONS:
        places = orders[f"at_{dimension}"]
        sequence = np.argsort(places, kind="stable")
        if dimension == DAYS:
            size = max(asked.orders, len(sequence) // _BLOCKS)
            parts = [sequence[start : start + size] for start in range(0, len(sequence), size)]
        else:
            _, starts = np.unique(places[sequence], return_index=True)
            parts = sorted(np.split(sequence, starts[1:]), key=len, reverse=True)[:_BLOCKS]
        yield from (_some(orders, part[:_SAMPLE]) for part in parts if len(part) >= asked.orders)


def _some(orders: dict[str, Any], places: Any) -> dict[str, Any]:
    return {name: column[places] for name, column in orders.items()}


def _explained(forms: Forms, orders: dict[str, Any], pattern: Pattern) -> Any:
    form, kind, value, base = pattern
    return explained(orders | {"residual": residual_by(forms, form, orders)}, kind, value, base)
