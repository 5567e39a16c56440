"""Find the populations of a rule target: orders that follow one form, as far as orders can show it.

All orders are one population to begin with, but for those that settings name a rule for. A population that no form
explains is divided; one that a form explains loses only clear exceptions. Each round counts every population in one
pass over the orders per dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.warehouse.evidence.dividing import Division, Shares, divide_by_days, divide_by_values
from pipelines.warehouse.evidence.verdicts import AGREED, SUPPORTED, Asked, Judgement, decide, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from pipelines.warehouse.evidence.forms import Floats, Forms, Ints, Patterns

DAYS = "business_date"
DIMENSIONS = ("platform", "dispatch_method", "store_id", "status", "sale_class", DAYS)
DEPTH = 5
_PART = 5.0  # nats: what an order holds divides only where this is clearer than where it comes from
_CHUNK = 2_000_000  # cells of [value, pattern] counted at once


@dataclass
class Population:
    """A node of the tree; a leaf is a population. `values` are places of the parent's dimension; () for a root."""

    no: int
    parent: Population | None
    values: tuple[int, ...] = ()
    is_rest: bool = False
    setting_form: int | None = None
    setting_no: int | None = None
    dimension: str = ""  # by which it is divided; "" for a leaf
    judgement: Judgement | None = None
    weights: Ints | None = None
    """[pattern]: how many of its orders follow it."""
    children: list[Population] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """How many divisions lead to it."""
        return 0 if self.parent is None else self.parent.depth + 1


def find_populations(
    con: duckdb.DuckDBPyConnection, forms: Forms, patterns: Patterns, asked: Asked, settings: dict[int, int]
) -> list[Population]:
    """Return all nodes of the tree; `settings` is setting_no → form, of rules that settings name.

    Reads and updates the temporary table facts: node, pattern_no and a place per dimension for each order.
    """
    nodes = [Population(0, None)]
    for setting_no, form in sorted(settings.items()):
        nodes.append(Population(-setting_no, None, setting_form=form, setting_no=setting_no))
    active = list(nodes)
    while active:
        weights = _pattern_counts(con, active, len(patterns.fits))
        for node in active:
            node.weights = weights[node.no]
            node.judgement = judge(forms, patterns, weights[node.no], asked, node.setting_form)
        divisible = [node for node in active if node.setting_form is None and node.depth < DEPTH]
        active = []
        for node, dimension, division in _divisions(con, forms, patterns, asked, divisible, weights):
            active += _divide(con, forms.parts, patterns, nodes, node, dimension, division)
    _borrow(forms, [node for node in nodes if not node.dimension], asked)
    return nodes


def _pattern_counts(con: duckdb.DuckDBPyConnection, nodes: list[Population], patterns: int) -> dict[int, Ints]:
    weights = {node.no: np.zeros(patterns, dtype=np.int64) for node in nodes}
    listed = ", ".join(str(node.no) for node in nodes)
    query = f"select node, pattern_no, count(*) from facts where node in ({listed}) group by all"
    for node, pattern, number in con.execute(query).fetchall():
        weights[node][pattern] = number
    return weights


def _divisions(
    con: duckdb.DuckDBPyConnection,
    forms: Forms,
    patterns: Patterns,
    asked: Asked,
    nodes: list[Population],
    weights: dict[int, Ints],
) -> Iterator[tuple[Population, str, Division]]:
    """Yield the division of each node that explains most, where one explains enough."""
    found: dict[int, list[tuple[float, int, str, Division]]] = {node.no: [] for node in nodes}
    shares = {node.no: Shares.of(asked.noise, is_closed=_is_explained(node)) for node in nodes}
    for place, dimension in enumerate(DIMENSIONS):
        for no, values, fits, orders in _cells(con, dimension, list(found), patterns):
            division = (divide_by_days if dimension == DAYS else divide_by_values)(fits, orders, shares[no])
            if division:
                groups = [[int(values[cell]) for cell in group] for group in division.groups]
                found[no].append((-division.saved, place, dimension, Division(division.saved, groups)))
    for no, divisions in found.items():
        for part, name in enumerate(forms.parts):
            held = np.stack([weights[no] * ~patterns.holds[:, part], weights[no] * patterns.holds[:, part]])
            orders = held.sum(axis=1)
            if not orders.all():
                continue
            division = divide_by_values(held.astype(np.float64) @ patterns.fits, orders, shares[no])
            if division and division.saved > _PART:
                divisions.append((_PART - division.saved, len(DIMENSIONS) + part, name, division))
    for node in nodes:
        if found[node.no]:
            _, _, dimension, division = min(found[node.no], key=lambda each: each[:2])
            yield node, dimension, division


def _is_explained(node: Population) -> bool:
    return node.judgement is not None and node.judgement.verdict in (SUPPORTED, AGREED)


def _cells(
    con: duckdb.DuckDBPyConnection, dimension: str, nodes: list[int], patterns: Patterns
) -> Iterator[tuple[int, Ints, Floats, Ints]]:
    """Yield for each node the values of a dimension, [value, form] how many orders fit, [value] how many there are."""
    if not nodes:
        return
    rows = con.execute(
        f"select node, {dimension} as value, pattern_no, count(*) as orders from facts "
        f"where node in ({', '.join(map(str, nodes))}) group by all order by all"
    ).fetchnumpy()
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


def _divide(
    con: duckdb.DuckDBPyConnection,
    parts: list[str],
    patterns: Patterns,
    nodes: list[Population],
    node: Population,
    dimension: str,
    division: Division,
) -> list[Population]:
    """Add the children of a node, move its orders to them, and return them."""
    node.dimension = dimension
    first = max(each.no for each in nodes) + 1
    for place, group in enumerate(division.groups):
        node.children.append(Population(first + place, node, tuple(group), is_rest=place == 0))
    column = dimension if dimension in DIMENSIONS else "pattern_no"
    if dimension in DIMENSIONS:
        moved = [(value, child.no) for child in node.children for value in child.values]
    else:
        held = patterns.holds[:, parts.index(dimension)]
        moved = [(int(no), child.no) for child in node.children for no in np.flatnonzero(held == child.values[0])]
    con.execute("create or replace temp table moves (value integer, child integer)")
    for start in range(0, len(moved), 1000):
        listed = ", ".join(f"({value}, {child})" for value, child in moved[start : start + 1000])
        con.execute(f"insert into moves values {listed}")
    con.execute(
        f"update facts set node = moves.child from moves where facts.node = {node.no} and facts.{column} = moves.value"
    )
    nodes += node.children
    return list(node.children)


def _borrow(forms: Forms, leaves: list[Population], asked: Asked) -> None:
    """Answer questions that are too rare in a population as all other populations do, where they agree."""
    judged = [leaf.judgement for leaf in leaves if leaf.judgement and leaf.judgement.candidates]
    answers: dict[int, set[int]] = {}
    for found in judged:
        decided = forms.is_tested & (found.held >= asked.orders)
        decided[found.open_parts] = False
        if found.verdict in (SUPPORTED, AGREED):
            for part in map(int, np.flatnonzero(decided)):
                answers.setdefault(part, set()).add(int(forms.answers[found.leader, part]))
    for found in judged:
        for part in list(found.open_parts):
            if found.held[part] >= asked.orders or len(answers.get(part, ())) != 1:
                continue
            (answer,) = answers[part]
            alike = [form for form in found.candidates if forms.answers[form, part] == answer]
            if alike:
                found.candidates = alike
                found.borrowed.append(part)
                found.leader = min(alike, key=lambda form: (-found.all_fits[form], forms.complexity[form], form))
                found.fits = round(float(found.all_fits[found.leader]))
                decide(forms, found, asked)
