"""Find the populations of a rule target: orders that follow one form, as far as orders can show it.

All orders are one population at first, but for those that settings name a rule for. One that no form explains is
divided by a dimension; one that a form explains loses only clear exceptions. Each round counts all populations in one
pass over the orders per dimension. An order that fits its part's form costs -log(share of orders that fit), one that
does not costs -log(1 - share) and its amount; the cheapest division is taken, if it saves enough.

    No form fits 1,000 orders, as the 300 by phone are 0.50 higher. Divided by platform, one form explains the other
    700; those by phone are a population that is off by a constant, its trait (a share, a step and zero are others).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import duckdb
import numpy as np

from pipelines.warehouse.evidence import verdicts
from pipelines.warehouse.evidence.residuals import COMMON, residual_by, simplest, stated_totals
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
    costs = [(share, _costs(total, count, share)[0]) for share in shares]
    return [(share, int(each.argmin()), float(each.min())) for share, each in costs]


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
        moves = "select unnest(?::integer[]) as value, unnest(?::integer[]) as child"
        self.con.execute(f"create or replace temp table moves as {moves}", [*map(list, zip(*moved, strict=True))])
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
    explained = verdicts.SUPPORTED, verdicts.AGREED
    closed = {node.no for node in nodes if node.judgement and node.judgement.verdict in explained}
    shares = {node.no: shares_of(tree.thresholds.noise, is_closed=node.no in closed) for node in nodes}
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
    found = "(select unnest(?::integer[]) as node, unnest(?::bigint[]) as form_no) as found"
    joined = f"{found} inner join workings.formula_forms using (form_no) where rule_target = '{target}'"
    select = f"select node, form_no, rule_parameters as parameters from {joined}"
    places = [form + 1 for form in forms.values()]
    con.execute(f"create or replace temp table leaves as {select}", [list(forms), places])


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
    explained = [each.explains(orders | {"residual": residual_by(forms, form, orders)}) for form, each in sorted(found)]
    fits, shares = np.stack(explained, axis=1).astype(np.float64), shares_of(thresholds.noise, is_closed=False)
    best: Division | None = None
    for dimension in DIMENSIONS:
        values, cell = np.unique(orders[f"at_{dimension}"], return_inverse=True)
        counts: Ints = np.bincount(cell, minlength=len(values)).astype(np.int64)
        sums: Floats = np.stack([np.bincount(cell, weights=fit, minlength=len(values)) for fit in fits.T], axis=1)
        division = divide_by(dimension, range(len(values)), sums, counts, shares)
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
