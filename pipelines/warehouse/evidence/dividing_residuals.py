"""Divide populations that no total form explains where each part differs from a form by its own constant or share.

Two stores with two tax rates have no form in common; each of them is off by a share of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.warehouse.evidence.populations import (
    DAYS,
    DEPTH,
    DIMENSIONS,
    Division,
    Population,
    Shares,
    divide,
    divide_by_days,
    divide_by_values,
    judge_all,
)
from pipelines.warehouse.evidence.residuals import COMMON, explained, residual_by, simplest, stated_totals
from pipelines.warehouse.evidence.verdicts import NONE, Asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from pipelines.warehouse.evidence.verdicts import Floats, Forms, Ints, Patterns

_SIMPLE = 2  # of forms that are tried: how many parts they count another way
_BLOCKS = 24  # of orders of one dimension that are looked at
_SAMPLE = 200  # orders of a block

Pattern = tuple[int, str, int, str]  # form, and kind, value, base of what differs


def divide_by_residuals(
    con: duckdb.DuckDBPyConnection, forms: Forms, patterns: Patterns, asked: Asked, nodes: list[Population]
) -> None:
    """Divide leaves as far as parts of enough orders are explained exactly; add their children to nodes."""
    active = [node for node in nodes if not node.dimension]
    while active:
        children: list[Population] = []
        for node in active:
            judged = node.judgement
            if judged is None or judged.verdict != NONE or node.setting_no is not None or node.depth >= DEPTH:
                continue
            columns = ", ".join(f"facts.{dimension} as at_{dimension}" for dimension in DIMENSIONS) + ","
            orders = stated_totals(con, node.no, columns)
            if len(orders["stated"]) < 2 * asked.orders or simplest(forms, _some(orders, slice(_SAMPLE))):
                continue
            if found := _division(forms, orders, asked):
                children += divide(con, forms.parts, patterns, nodes, node, *found)
        judge_all(con, forms, patterns, asked, children)
        active = children


def _division(forms: Forms, orders: dict[str, Any], asked: Asked) -> tuple[str, Division] | None:
    """Return the dimension, and the division by it, that explains most orders."""
    found = {pattern for block in _blocks(orders, asked) if (pattern := simplest(forms, block, _SIMPLE))}
    if not found:
        return None
    fits = np.stack([_explained(forms, orders, pattern) for pattern in sorted(found)], axis=1).astype(np.float64)
    best: tuple[float, str, Division] | None = None
    for dimension in DIMENSIONS:
        values, cell = np.unique(orders[f"at_{dimension}"], return_inverse=True)
        counts: Ints = np.bincount(cell, minlength=len(values)).astype(np.int64)
        sums: Floats = np.stack([np.bincount(cell, weights=fit, minlength=len(values)) for fit in fits.T], axis=1)
        shares = Shares.of(asked.noise, is_closed=False)
        division = (divide_by_days if dimension == DAYS else divide_by_values)(sums, counts, shares)
        if division and _is_exact(division, sums, counts, asked) and (best is None or division.saved > best[0]):
            groups = [[int(values[place]) for place in group] for group in division.groups]
            best = division.saved, dimension, Division(division.saved, groups)
    return best and best[1:]


def _is_exact(division: Division, sums: Floats, counts: Any, asked: Asked) -> bool:
    """Tell whether each part has enough orders, and any is explained by one pattern."""
    shares = [(counts[group].sum(), sums[group].sum(axis=0).max()) for group in division.groups]
    return all(orders >= asked.orders for orders, _ in shares) and any(
        fits >= max(COMMON, 1 - asked.noise) * orders for orders, fits in shares
    )


def _blocks(orders: dict[str, Any], asked: Asked) -> Iterator[dict[str, Any]]:
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
