"""Find the populations of a rule target: orders that follow one form, as far as orders can show it.

All orders are one population at first, but for those that settings name a rule for. One that no form explains is
divided by a dimension; one that a form explains loses only clear exceptions. Each round counts all populations in one
pass over the orders per dimension. An order that fits its part's form costs -log(share of orders that fit), one that
does not costs -log(1 - share) and its amount; the cheapest division is taken, if it saves enough.

    No form fits 1,000 orders, as the 300 by phone are 0.50 higher. Divided by platform, one form explains the other
    700; those by phone are a population that is off by a constant, its trait (a share, a step and zero are others).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Self

import duckdb
import numpy as np

from pipelines.warehouse.catalogue.selects import filled
from pipelines.warehouse.evidence import verdicts
from pipelines.warehouse.evidence.verdicts import EvidenceThresholds, Floats, Forms, Ints, Judgement, Patterns

AMOUNT = 3.0  # nats: an amount that no form gives is one of at least twenty
ENOUGH = 12.0  # nats: chance saves so much once in 160,000 divisions that are looked at
GROUP = 6.0  # nats: a form among about eighty, and its share
MIXED = (0.75, 0.5, 0.25, 0.05)  # shares of groups in which no form holds
ALMOST_NONE = (0.25, 0.05)  # of groups that are set apart where a form holds: less than half as well
_GROUPS = 100  # at most, of one division
_CLEAN = (0.8, 0.98)  # bounds of the share in which a form that holds fits


@dataclass(frozen=True)
class Division:
    """Values (places) put in groups; the first group is the largest, and takes values never seen."""

    saved: float
    groups: list[list[int]]
    dimension: str = ""


Shares = tuple[float, ...]


def shares_of(noise: float, *, is_closed: bool) -> Shares:
    """Return the share in which a form fits where it holds, and those of groups in which none does.

    A population that a form explains is closed but for clear exceptions.
    """
    return (min(max(1 - noise, _CLEAN[0]), _CLEAN[1]), *(ALMOST_NONE if is_closed else MIXED))


def divide_by(dimension: str, values: Any, fits: Floats, orders: Ints, shares: Shares) -> Division | None:
    """Divide by a dimension, whose `values` (places) there are."""
    found = (divide_by_days if dimension == DAYS else divide_by_values)(fits, orders, shares)
    return found and Division(found.saved, [[int(values[each]) for each in group] for group in found.groups], dimension)


def divide_by_values(fits: Floats, orders: Ints, shares: Shares) -> Division | None:
    """Divide by a dimension without an order: [value, form] fits, [value] orders."""
    if len(orders) < 2:
        return None
    cell = math.log(len(orders)) + 1.0
    share, form, whole = min(_singles(fits, orders, shares), key=lambda single: single[2])
    groups = 1
    current = _costs(fits, orders, share)[:, form].copy()
    member = np.zeros(len(orders), dtype=np.int64)
    while groups < _GROUPS:
        saved, group, better = 0.0, None, None
        for share in shares:
            gain = np.maximum(current[:, None] - _costs(fits, orders, share) - cell, 0.0)
            total = gain.sum(axis=0) - GROUP
            form = int(total.argmax())
            if total[form] > saved + 1e-9:
                saved, group, better = float(total[form]), (share, form), gain[:, form] > 0
        if group is None or better is None:
            break
        member[better] = groups
        groups += 1
        current[better] = _costs(fits, orders, group[0])[better, group[1]] + cell
    saved = float(whole - current.sum() - GROUP * (groups - 1))
    return _division(saved, member, orders)


def divide_by_days(fits: Floats, orders: Ints, shares: Shares) -> Division | None:
    """Divide days, in their order, into spans; spans that follow one form in the same way are one group."""
    spans = [(0, len(orders))]
    sums, counts = _running(fits), _running(orders[:, None])[:, 0]
    while len(spans) < _GROUPS:
        found = max(((*_cut(sums, counts, span, shares), span) for span in spans), key=lambda each: each[0])
        if found[0] <= 0:
            break
        spans.remove(found[2])
        spans += [(found[2][0], found[1]), (found[1], found[2][1])]
    spans.sort()
    if len(spans) < 2:
        return None
    kinds = [_kind(sums[end] - sums[start], counts[end] - counts[start], shares) for start, end in spans]
    member = np.zeros(len(orders), dtype=np.int64)
    for (start, end), kind in zip(spans, kinds, strict=True):
        member[start:end] = kinds.index(kind)
    whole = _span_costs(sums[-1:] - sums[0], counts[-1:] - counts[0], shares)[0]
    apart = sum(_span_costs((sums[e] - sums[s])[None], (counts[e] - counts[s])[None], shares)[0] for s, e in spans)
    saved = float(whole - apart - (len(spans) - 1) * (GROUP + math.log(len(orders))))
    return _division(saved, member, orders)


def _cut(sums: Floats, counts: Floats, span: tuple[int, int], shares: Shares) -> tuple[float, int]:
    """Return the saving of the best cut of a span, and where it is."""
    start, end = span
    if end - start < 2:
        return 0.0, start
    inner = slice(start + 1, end)
    before = _span_costs(sums[inner] - sums[start], counts[inner] - counts[start], shares)
    after = _span_costs(sums[end] - sums[inner], counts[end] - counts[inner], shares)
    whole = _span_costs((sums[end] - sums[start])[None], (counts[end] - counts[start])[None], shares)[0]
    saved = whole - before - after - GROUP - math.log(end - start)
    place = int(saved.argmax())
    return float(saved[place]), start + 1 + place


def _span_costs(fits: Floats, orders: Floats, shares: Shares) -> Floats:
    most = fits.max(axis=1)
    costs: Floats = np.stack([_costs(most[:, None], orders, share)[:, 0] for share in shares]).min(axis=0)
    return costs


def _kind(fits: Floats, orders: float, shares: Shares) -> tuple[int, float]:
    form = int(fits.argmax())
    costs = [(float(_costs(fits[form][None, None], np.array([orders]), share)[0, 0]), share) for share in shares]
    return form, min(costs)[1]


def _running(values: Floats | Ints) -> Floats:
    return np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])


def _singles(fits: Floats, orders: Ints, shares: Shares) -> list[tuple[float, int, float]]:
    """Return for each share the form by which all orders cost least, and what they cost."""
    total, count = fits.sum(axis=0)[None], orders.sum()[None]
    found = []
    for share in shares:
        costs = _costs(total, count, share)[0]
        form = int(costs.argmin())
        found.append((share, form, float(costs[form])))
    return found


def _costs(fits: Floats, orders: Ints | Floats, share: float) -> Floats:
    """Return what orders cost, in nats, if each form fitted in this share of them: [value, form]."""
    fitting, missing = -math.log(share), AMOUNT - math.log(1 - share)
    return missing * np.asarray(orders, dtype=np.float64)[:, None] - (missing - fitting) * fits


def _division(saved: float, member: Ints, orders: Ints) -> Division | None:
    if saved <= ENOUGH:
        return None
    groups = [[int(value) for value in np.flatnonzero(member == group)] for group in np.unique(member)]
    if len(groups) < 2:
        return None
    groups.sort(key=lambda values: (-int(orders[values].sum()), values[0]))
    return Division(saved, groups)


DAYS = "business_date"
DIMENSIONS = ("platform", "dispatch_method", "store_id", "status", "sale_class", DAYS, "weekday")
DEPTH = 5
_PART = 5.0  # nats: what an order holds divides only where this is clearer than where it comes from
_CHUNK = 2_000_000  # cells of [value, pattern] counted at once


@dataclass
class Population:
    """A node of the tree; a leaf is a population. `values` are places of the parent's dimension; () for a root."""

    no: int
    parent: Self | None
    values: tuple[int, ...] = ()
    is_rest: bool = False
    setting_form: int | None = None
    setting_no: int | None = None
    dimension: str = ""  # by which it is divided; "" for a leaf
    judgement: Judgement | None = None
    weights: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[pattern]: how many of its orders follow it."""
    children: list[Self] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """How many divisions lead to it."""
        return 0 if self.parent is None else self.parent.depth + 1


@dataclass
class Tree:
    """The populations of a rule target: how their orders are judged, and all nodes, the roots first.

    Reads and updates the temporary table facts: node, pattern_no and a place per dimension for each order.
    """

    con: duckdb.DuckDBPyConnection
    forms: Forms
    patterns: Patterns
    thresholds: EvidenceThresholds
    nodes: list[Population] = field(default_factory=list)

    def judge(self, nodes: list[Population]) -> None:
        """Judge populations from the orders that facts has of each."""
        if not nodes:
            return
        by_no = {node.no: node for node in nodes}
        for node in nodes:
            node.weights = np.zeros(len(self.patterns.fits), dtype=np.int64)
        query = f"select node, pattern_no, count(*) from facts where node in ({_listed(by_no)}) group by all"
        for no, pattern, number in self.con.execute(query).fetchall():
            by_no[no].weights[pattern] = number
        for node in nodes:
            node.judgement = verdicts.judge(self.forms, self.patterns, node.weights, self.thresholds, node.setting_form)

    def divide(self, node: Population, division: Division) -> list[Population]:
        """Add the children of a node, move its orders to them, and return them."""
        node.dimension = division.dimension
        first = max(each.no for each in self.nodes) + 1
        for place, group in enumerate(division.groups):
            node.children.append(Population(first + place, node, tuple(group), is_rest=place == 0))
        if node.dimension in DIMENSIONS:
            column = node.dimension
            moved = [(value, child.no) for child in node.children for value in child.values]
        else:
            column, held = "pattern_no", self.patterns.holds[:, self.forms.parts.index(node.dimension)]
            moved = [(int(no), child.no) for child in node.children for no in np.flatnonzero(held == child.values[0])]
        self.con.execute("create or replace temp table moves (value integer, child integer)")
        for start in range(0, len(moved), 1000):
            listed = ", ".join(f"({value}, {child})" for value, child in moved[start : start + 1000])
            self.con.execute(f"insert into moves values {listed}")
        moved_to = f"where facts.node = {node.no} and facts.{column} = moves.value"
        self.con.execute(f"update facts set node = moves.child from moves {moved_to}")
        self.nodes += node.children
        return list(node.children)

    def borrow(self) -> None:
        """Answer questions that are too rare in a population as all other populations do, where they agree."""
        forms, least = self.forms, self.thresholds.orders
        leaves = [node.judgement for node in self.nodes if not node.dimension]
        judged = [found for found in leaves if found and found.candidates]
        answers: dict[int, set[int]] = {}
        for found in judged:
            decided = forms.is_tested & (found.held >= least)
            decided[found.open_parts] = False
            if found.verdict in (verdicts.SUPPORTED, verdicts.AGREED):
                for part in map(int, np.flatnonzero(decided)):
                    answers.setdefault(part, set()).add(int(forms.answers[found.leader, part]))
        for found in judged:
            for part in list(found.open_parts):
                if found.held[part] >= least or len(answers.get(part, ())) != 1:
                    continue
                (answer,) = answers[part]
                alike = [form for form in found.candidates if forms.answers[form, part] == answer]
                if alike:
                    found.candidates = alike
                    found.borrowed.append(part)
                    found.leader = min(alike, key=lambda form: (-found.all_fits[form], forms.complexity[form], form))
                    found.fits = round(float(found.all_fits[found.leader]))
                    verdicts.decide(forms, found, self.thresholds)


def find_populations(tree: Tree, settings: dict[int, int]) -> None:
    """Add all nodes to a tree; `settings` is setting_no → form, of rules that settings name."""
    tree.nodes.append(Population(0, None))
    for setting_no, form in sorted(settings.items()):
        tree.nodes.append(Population(-setting_no, None, setting_form=form, setting_no=setting_no))
    active = list(tree.nodes)
    while active:
        tree.judge(active)
        divisible = [node for node in active if node.setting_form is None and node.depth < DEPTH]
        divisions = list(_divisions(tree, divisible))
        active = [child for node, division in divisions for child in tree.divide(node, division)]
    tree.borrow()


def _divisions(tree: Tree, nodes: list[Population]) -> Iterator[tuple[Population, Division]]:
    """Yield the division of each node that explains most, where one explains enough."""
    found: dict[int, list[tuple[float, int, Division]]] = {node.no: [] for node in nodes}
    shares = {}
    for node in nodes:
        is_closed = node.judgement is not None and node.judgement.verdict in (verdicts.SUPPORTED, verdicts.AGREED)
        shares[node.no] = shares_of(tree.thresholds.noise, is_closed=is_closed)
    for place, dimension in enumerate(DIMENSIONS):
        for no, values, fits, orders in _cells(tree.con, dimension, list(found), tree.patterns):
            if division := divide_by(dimension, values, fits, orders, shares[no]):
                found[no].append((-division.saved, place, division))
    for node in nodes:
        for part, name in enumerate(tree.forms.parts):
            holds = tree.patterns.holds[:, part]
            held = np.stack([node.weights * ~holds, node.weights * holds])
            orders = held.sum(axis=1)
            if not orders.all():
                continue
            division = divide_by_values(held.astype(np.float64) @ tree.patterns.fits, orders, shares[node.no])
            if division and division.saved > _PART:
                place = len(DIMENSIONS) + part
                found[node.no].append((_PART - division.saved, place, replace(division, dimension=name)))
        if found[node.no]:
            yield node, min(found[node.no], key=lambda each: each[:2])[-1]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _cells(
    con: duckdb.DuckDBPyConnection, dimension: str, nodes: list[int], patterns: Patterns
) -> Iterator[tuple[int, Ints, Floats, Ints]]:
    """Yield for each node the values of a dimension, [value, form] how many orders fit, [value] how many there are."""
    if not nodes:
        return
    counts = f"select node, {dimension} as value, pattern_no, count(*) as orders from facts"
    rows = con.execute(f"{counts} where node in ({_listed(nodes)}) group by all order by all").fetchnumpy()
    for no in nodes:
        mine = rows["node"] == no
        values, cell = np.unique(rows["value"][mine], return_inverse=True)
        number, pattern = rows["orders"][mine], rows["pattern_no"][mine]
        orders = np.bincount(cell, weights=number, minlength=len(values)).astype(np.int64)
        yield no, values, _fits(cell, pattern, number, len(values), patterns), orders


def _fits(cell: Ints, pattern: Ints, number: Ints, values: int, patterns: Patterns) -> Floats:
    """Return [value, form] how many orders fit, a chunk of values at a time: rows are in the order of values."""
    width = len(patterns.fits)
    step = max(1, _CHUNK // max(1, width))
    chunks = []
    for first in range(0, values, step):
        start, end = np.searchsorted(cell, (first, first + step))
        size = min(step, values - first)
        places = (cell[start:end] - first) * width + pattern[start:end]
        dense = np.bincount(places, weights=number[start:end], minlength=size * width)
        chunks.append(dense.reshape(size, width).astype(np.float32) @ patterns.fits)
    return np.vstack(chunks) if chunks else np.zeros((0, patterns.fits.shape[1]))


def create_leaves(con: duckdb.DuckDBPyConnection, target: str, forms: Mapping[int, int]) -> None:
    """Make the temporary table leaves from node → form place."""
    con.execute("create or replace temp table leaf_forms (node integer, form_no bigint)")
    con.executemany("insert into leaf_forms values (?, ?)", [(node, form + 1) for node, form in forms.items()])
    con.execute(
        "create or replace temp table leaves as select leaf_forms.*, forms.rule_parameters as parameters "
        "from leaf_forms inner join workings.formula_forms as forms "
        f"on forms.rule_target = '{target}' and leaf_forms.form_no = forms.form_no"
    )


Pattern = tuple[int, str, int, str]  # form, and kind, value, base of the difference
SAMPLE = 2_000  # orders in which a pattern is looked for
COMMON = 0.9  # the share of them that a pattern of a whole population has to explain
MOST = 0.5  # the share, if so many as distinguish a rule follow it among orders that differ by chance
_UNIT = 10_000  # amounts are compared in ten-thousandths
_SHARE = 1_000_000  # and shares in millionths
_STEPS = (10_000, 5_000, 1_000, 500)
BASES = (  # of base_of(); of those that explain the same the first
    *("discount_above_subtotal", "subtotal", "subtotal_less_discount", "subtotal_less_all_discounts"),
    *("subtotal_and_delivery", "subtotal_and_delivery_less_all_discounts"),
    *("delivery", "tip", "discount", "loyalty"),
)
_LIMITS = ("subtotal_price", "delivery_price", "unit_count", "line_count", "hour", "discount", "tip")  # of `when`
_ROUNDINGS = ("order", "line", "half_even", "down", "up")  # of a share; of those that explain the same the first


@dataclass(frozen=True)
class Residual:
    """A pattern: kind, its value, the base of a share, how many orders follow it to the unit, of how many."""

    kind: str
    value: int
    base: str
    fits: int
    orders: int
    condition: str | None = None
    """What those orders meet and no other; "" if all meet it, None if nothing tells them from the others."""
    is_of_all: bool = True
    """Whether a step is that of all totals, also of those that the form fits."""
    rounding: str = ""
    """Of a share: how it is rounded, one of _ROUNDINGS."""
    exact: int = 0
    """How many orders it explains exactly, so rounded."""

    @property
    def amount(self) -> Decimal:
        """The value as an amount, or as a share."""
        return Decimal(self.value) / (_SHARE if self.kind == "share" else _UNIT)


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
    listed = ", ".join(str(node) for (node,) in nodes)
    con.execute(f"delete from wanted where node not in ({listed})")
    bases = "\n".join(f"cast(any_value(base_of(orders, '{base}')) * {_UNIT} as bigint) as {base}," for base in BASES)
    select = filled("residuals", unit=str(_UNIT), lines=filled(f"{target}_lines"), bases=bases)
    con.execute(f"create or replace temp table off_orders as {select}")
    found = {}
    for (node,) in nodes:
        mine = f"from off_orders where node = {node}"
        sample = con.execute(f"{mine} order by hash(order_id), order_id limit {SAMPLE}").fetchnumpy()
        if pattern := _pattern(sample, MOST):
            counts = f"select count(*) filter (where {_condition(*pattern)}), count(*)"
            ((fits, orders),) = con.execute(f"{counts} {mine}").fetchall()
            if fits >= max(MOST * orders, least):
                is_of_all = pattern[0] != "step"
                if pattern[0] == "step" and target == "total":
                    stated = stated_totals(con, node, limit=f"limit {SAMPLE}")["stated"]
                    is_of_all = bool((stated % pattern[1] == 0).mean() >= COMMON)
                limit = _limit(con, node, *pattern)
                found[node] = Residual(*pattern, fits, orders, limit, is_of_all, *_rounding(con, node, fits, *pattern))
    return found


def _rounding(
    con: duckdb.DuckDBPyConnection, node: int, fits: int, kind: str, value: int, base: str
) -> tuple[str, int]:
    """Return how a share is rounded, and how many orders of a leaf it then explains exactly."""
    if kind != "share":
        return "", fits
    found: dict[str, int] = {}
    for rounding in _ROUNDINGS:
        if rounding != "line" or (base == "subtotal" and found["order"] < fits):
            template, share = f"share_by_{'line' if rounding == 'line' else 'order'}", f"{Decimal(value) / _SHARE:f}"
            mode = "half_up" if rounding == "order" else rounding
            select = filled(template, node=str(node), share=share, base=base, mode=mode, unit=str(_UNIT))
            found[rounding] = (con.execute(select).fetchone() or (0,))[0]
    return max(found.items(), key=lambda each: each[1])


def _limit(con: duckdb.DuckDBPyConnection, node: int, kind: str, value: int, base: str) -> str | None:
    """Return the condition that the orders of a leaf that follow a constant or a share meet, and no other.

    An order without anything of the base tells nothing, nor does one that is off by something else.
    """
    if kind not in ("constant", "share"):
        return None
    bounds = ", ".join(f"min(orders.{name}), max(orders.{name})" for name in _LIMITS)
    rows = con.execute(f"""
        select off_orders.order_id is not null as is_following, {bounds} from facts
        inner join mart.orders as orders on facts.order_id = orders.order_id
        left join off_orders on facts.order_id = off_orders.order_id
        where facts.node = {node} and {f"base_of(orders, '{base}') <> 0" if base else "true"}
            and (off_orders.order_id is null or {_condition(kind, value, base, "off_orders.")})
        group by is_following
    """).fetchall()
    sides = {is_following: ends for is_following, *ends in rows}
    if len(sides) == 1:
        return ""
    for place, name in enumerate(_LIMITS):
        (least, most), (other_least, other_most) = (sides[side][2 * place : 2 * place + 2] for side in (True, False))
        if None in (least, other_least):
            continue
        if most < other_least:
            return f"{name} < {_roundest(Decimal(most), Decimal(other_least))}"
        if least > other_most:
            return f"{name} >= {_roundest(Decimal(other_most), Decimal(least))}"
    return None


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
    bases = "\n".join(f"cast(base_of(orders, '{base}') * {_UNIT} as bigint) as {base}," for base in BASES)
    select = filled("stated_totals", unit=str(_UNIT), node=str(node), columns=columns, bases=bases, limit=limit)
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
        if found and found[0] not in ("step", "unit"):
            return form, *found
    return None


def _pattern(sample: dict[str, Any], common: float = COMMON) -> tuple[str, int, str] | None:
    """Return the pattern that explains most of a sample, of equals the first; None if none explains that share."""
    if not sample["residual"].any():
        return None
    # an unknown base has no share
    sample = sample | {base: np.ma.filled(sample[base], 0) for base in BASES}
    fits = {each: int(explained(sample, *each).sum()) for each in _candidates(sample) if each[:2] != ("share", 0)}
    likely = [pattern for pattern, fit in fits.items() if fit >= common * len(sample["residual"])]
    return max(likely, key=lambda pattern: (_exact(sample, fits[pattern], *pattern), fits[pattern]), default=None)


def _candidates(sample: dict[str, Any]) -> Iterable[tuple[str, int, str]]:
    yield from (("zero", 0, ""), ("negated", 0, ""), ("unit", 0, ""))
    constant, _ = Counter(sample["residual"].tolist()).most_common(1)[0]
    yield "constant", int(constant), ""
    for base in BASES:
        for less, more in ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0)):  # rounded to the nearest, down and up
            yield "share", _share(sample, base, less, more), base
    yield from (("step", step, "") for step in _STEPS)


def _share(sample: dict[str, Any], base: str, less: float, more: float) -> int:
    """Return the roundest share that most orders can have, rounding up by `less` units, down by `more`; 0 for none."""
    held = sample[base] != 0
    amounts, residual = sample[base][held], sample["residual"][held]
    if not len(amounts):
        return 0
    unit = np.sign(residual) * sample["unit"][held]
    ends = np.stack([residual - less * unit, residual + more * unit]) / amounts
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


def _exact(sample: dict[str, Any], fits: int, kind: str, value: int, base: str) -> int:
    """Return how many orders of a sample follow a pattern exactly, its share rounded in the way that fits most."""
    if kind != "share":
        return fits
    units = sample[base] * float(value) / (_SHARE * sample["unit"])
    size, nearly = abs(units), 1e-9
    ways = (np.floor(size + 0.5), np.rint(size), np.floor(size + nearly), np.ceil(size - nearly))
    return max(int((sample["residual"] == np.sign(units) * way * sample["unit"]).sum()) for way in ways)


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
        return abs(residual - sample[base] * (value / _SHARE)) <= sample["unit"] + 1e-3
    if kind == "unit":
        return abs(residual) <= sample["unit"]
    return (stated % value == 0) & (abs(residual) < value)


def _condition(kind: str, value: int, base: str, of: str = "") -> str:
    return {
        "zero": f"{of}stated = 0",
        "negated": f"{of}residual = 2 * {of}stated and {of}stated <> 0",
        "constant": f"{of}residual = {value}",
        "share": f"abs({of}residual * {_SHARE}::hugeint - {value} * {of}{base or 'subtotal'}::hugeint) "
        f"<= {of}unit * {_SHARE}",
        "unit": f"abs({of}residual) <= {of}unit",
        "step": f"{of}stated % {max(value, 1)} = 0 and abs({of}residual) < {value}",
    }[kind]


_SIMPLE = 2  # of forms that are tried: how many parts they count another way
_BLOCKS = 24  # of orders of one dimension that are looked at
_FEWEST = 8  # orders of a block: values that share a pattern are pooled before their orders are counted
_SAMPLE = 200  # orders of a block


def divide_by_residuals(tree: Tree) -> None:
    """Divide leaves whose parts are each explained exactly, as two stores with two rates of a tax."""
    active = [node for node in tree.nodes if not node.dimension]
    while active:
        children: list[Population] = []
        for node in active:
            judged = node.judgement
            if judged is None or judged.verdict != verdicts.NONE or node.setting_no is not None or node.depth >= DEPTH:
                continue
            columns = ", ".join(f"facts.{dimension} as at_{dimension}" for dimension in DIMENSIONS) + ","
            orders = stated_totals(tree.con, node.no, columns)
            enough = len(orders["stated"]) >= 2 * tree.thresholds.orders
            if enough and not simplest(tree.forms, _some(orders, slice(_SAMPLE))):
                division = _divide_by_pattern(tree.forms, orders, tree.thresholds)
                children += tree.divide(node, division) if division else []
        tree.judge(children)
        active = children


def _divide_by_pattern(forms: Forms, orders: dict[str, Any], thresholds: EvidenceThresholds) -> Division | None:
    """Return the division that explains most orders."""
    found = {pattern for block in _blocks(orders, thresholds) if (pattern := simplest(forms, block, _SIMPLE))}
    if not found:
        return None
    by_pattern = [
        explained(orders | {"residual": residual_by(forms, form, orders)}, kind, value, base)
        for form, kind, value, base in sorted(found)
    ]
    fits = np.stack(by_pattern, axis=1).astype(np.float64)
    best: Division | None = None
    for dimension in DIMENSIONS:
        values, cell = np.unique(orders[f"at_{dimension}"], return_inverse=True)
        counts: Ints = np.bincount(cell, minlength=len(values)).astype(np.int64)
        sums: Floats = np.stack([np.bincount(cell, weights=fit, minlength=len(values)) for fit in fits.T], axis=1)
        places = range(len(values))
        division = divide_by(dimension, places, sums, counts, shares_of(thresholds.noise, is_closed=False))
        if division and _is_exact(division, sums, counts, thresholds) and (best is None or division.saved > best.saved):
            best = replace(division, groups=[[int(values[place]) for place in group] for group in division.groups])
    return best


def _is_exact(division: Division, sums: Floats, counts: Any, thresholds: EvidenceThresholds) -> bool:
    """Tell whether each part has enough orders, and any is explained by one pattern."""
    shares = [(counts[group].sum(), sums[group].sum(axis=0).max()) for group in division.groups]
    least = max(COMMON, 1 - thresholds.noise)
    has_enough = all(orders >= thresholds.orders for orders, _ in shares)
    return has_enough and any(fits >= least * orders for orders, fits in shares)


def _blocks(orders: dict[str, Any], thresholds: EvidenceThresholds) -> Iterator[dict[str, Any]]:
    """Yield orders that may share a pattern: those of one value, or of days that follow each other."""
    for dimension in DIMENSIONS:
        places = orders[f"at_{dimension}"]
        sequence = np.argsort(places, kind="stable")
        if dimension == DAYS:
            size = max(thresholds.orders, len(sequence) // _BLOCKS)
            parts = [sequence[start : start + size] for start in range(0, len(sequence), size)]
        else:
            _, starts = np.unique(places[sequence], return_index=True)
            parts = sorted(np.split(sequence, starts[1:]), key=len, reverse=True)[:_BLOCKS]
        yield from (_some(orders, part[:_SAMPLE]) for part in parts if len(part) >= _FEWEST)


def _some(orders: dict[str, Any], places: Any) -> dict[str, Any]:
    return {name: column[places] for name, column in orders.items()}
