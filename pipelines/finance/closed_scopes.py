"""Say of each population which orders belong to it, as conditions on their values: what a close keeps of it.

The words that describe a population name few values and change with others; conditions do neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

DAYS = "business_date"
Scope = tuple[str, int]  # rule target, number of a population or of a division
Condition = dict[str, Any]


@dataclass
class _Child:
    """The part of one division that is a population, or divided further."""

    parent: Scope
    dimension: str
    part_no: int | None
    is_rest: bool
    values: list[str | None] = field(default_factory=list)


def population_conditions(con: duckdb.DuckDBPyConnection) -> dict[Scope, list[Condition]]:
    """Return the conditions that the orders of each population meet, all of them, from audit.formula_divisions.

    A condition has a `dimension`, a column of orders, or a `part` that an order holds ("1") or not ("0"); its `values`,
    or `spans` of days, first and last, null without a limit; and `is_other`: whether it is about all other values.
    """
    children = _children(con)
    days = [row[0].isoformat() for row in con.execute(_DAYS).fetchall()]
    found = {}
    for scope in children:
        conditions: list[Condition] = []
        child = children.get(scope)
        while child is not None:
            conditions.insert(0, _condition(child, children, days))
            child = children.get(child.parent)
        found[scope] = conditions
    return found


_DAYS = "select distinct business_date from mart.orders where business_date is not null order by business_date"


def _children(con: duckdb.DuckDBPyConnection) -> dict[Scope, _Child]:
    rows = con.execute(
        "select rule_target, node_no, dimension, part_no, is_rest, value, child_no from audit.formula_divisions "
        "order by all"
    ).fetchall()
    found: dict[Scope, _Child] = {}
    for target, node_no, dimension, part_no, is_rest, value, child_no in rows:
        child = found.setdefault((target, child_no), _Child((target, node_no), dimension, part_no, is_rest))
        if not is_rest:
            child.values.append(value)
    return found


def _condition(child: _Child, children: dict[Scope, _Child], days: list[str]) -> Condition:
    values = child.values
    if child.is_rest:
        values = [value for other in children.values() if other.parent == child.parent for value in other.values]
    condition: Condition = {"is_other": child.is_rest}
    if child.part_no is not None:
        return condition | {"part": child.dimension, "values": values}
    if child.dimension == DAYS:
        return condition | {"dimension": DAYS, "spans": _spans({*values}, days)}
    return condition | {"dimension": child.dimension, "values": values}


def _spans(values: set[str | None], days: list[str]) -> list[list[str | None]]:
    """Return days as spans among all days with orders; one that begins or ends with those has no limit there."""
    spans: list[list[int]] = []
    for place, day in enumerate(days):
        if day not in values:
            continue
        if spans and spans[-1][1] == place - 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    last = len(days) - 1
    return [[days[a] if a > 0 else None, days[b] if b < last else None] for a, b in spans]
