"""Write the settings that would settle what a population's orders show, ready to paste; a person decides."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

from pipelines.warehouse.evidence.populations import DAYS, DIMENSIONS
from pipelines.warehouse.evidence.residuals import COMMON
from pipelines.warehouse.evidence.verdicts import NONE
from pipelines.warehouse.evidence.wording import runs_of_days

if TYPE_CHECKING:
    from pipelines.warehouse.evidence.populations import Population
    from pipelines.warehouse.evidence.residuals import Residual
    from pipelines.warehouse.evidence.verdicts import Forms, Judgement

_MOST = 20  # tables of settings that anybody would paste
_KEYS = {"platform": "platform", "dispatch_method": "dispatch_method", "store_id": "store", "status": "status"}
_AMOUNTS = {"tip": "tip", "delivery": "delivery_price", "discount": "discount", "loyalty": "loyalty_discount"}
_STATED = {"zero": "zero/unrounded", "negated": "negated/unrounded"}
Limits = list[dict[str, Any]]


def settlement(
    forms: Forms, node: Population, judged: Judgement, found: Residual, values: dict[str, list[Any]]
) -> str | None:
    """Return tables of settings: components, or the rule of those that follow one; None if none can say it.

    A rule by itself is of use where most orders follow it, and the others are off by one amount for no reason that an
    order states.
    """
    scopes = limits_of(node, values) if node.setting_no is None else None
    if not scopes or len(scopes) > _MOST:
        return None
    is_all = found.orders == judged.orders and found.fits >= COMMON * found.orders
    if forms.target == "subtotal":
        is_factor = found.kind == "negated" or (found.kind == "share" and found.base == "subtotal")
        made = [_factor(Decimal(-1) if found.kind == "negated" else 1 - found.amount)] if is_all and is_factor else []
    elif found.kind == "step":
        made = [_component(found)] if found.is_of_all else []
    elif found.kind in _STATED:
        made = [_rule(_STATED[found.kind])] if is_all else []
    elif is_all or found.condition:
        made = [_component(found)]
    else:
        most = judged.verdict == NONE and 2 * judged.fits > judged.orders
        made = [_rule(f"{forms.names[judged.leader]}/unrounded")] if most else []
    return "\n".join(_table(head | limits) for head in made for limits in scopes) or None


def _rule(name: str) -> dict[str, Any]:
    return {"": "rule", "rule_target": "total", "rule": name}


def _factor(factor: Decimal) -> dict[str, Any]:
    written = f"{factor.normalize():f}"
    return {"": "component", "name": f"prices by {written}", "price_factor": written}


def _component(found: Residual) -> dict[str, Any]:
    amount = f"{found.amount.normalize():f}"
    of = {"share": amount, "base": found.base} if found.kind == "share" else {found.kind: amount}
    return {"": "component", "name": f"{amount} of {found.base}" if found.base else amount, **of} | (
        {"when": found.condition} if found.condition else {}
    )


def _table(made: dict[str, Any]) -> str:
    conditions = " and ".join([*made.pop("conditions"), *([made.pop("when")] if "when" in made else [])])
    keys = {key: value for key, value in made.items() if key} | ({"when": conditions} if conditions else {})
    lines = [f"{key} = {value if key in ('from', 'to') else json.dumps(value)}" for key, value in keys.items()]
    return "\n".join([f"[[formula.{made['']}]]", *lines])


def limits_of(node: Population, values: dict[str, list[Any]]) -> Limits | None:
    """Return what limits settings to a population, once for each table that it takes; None if no settings can."""
    limits: Limits = [{"conditions": []}]
    while node.parent is not None:
        found = _limits(node, node.parent, values)
        if found is None:
            return None
        limits = [
            each | before | {"conditions": [*each.get("conditions", []), *before["conditions"]]}
            for before, each in product(limits, found)
        ]
        node = node.parent
    return limits


def _limits(node: Population, parent: Population, values: dict[str, list[Any]]) -> Limits | None:
    """Return the limits that one division sets."""
    dimension = parent.dimension
    if dimension not in DIMENSIONS:
        held = f"{_AMOUNTS.get(dimension, '')} {'!=' if node.values == (1,) else '='} 0"
        return [{"conditions": [held]}] if dimension in _AMOUNTS else None
    listed = [values[dimension][value] for value in node.values]
    others = [values[dimension][value] for child in parent.children if child is not node for value in child.values]
    if dimension == DAYS:
        return _spans(node.values, values[DAYS])
    if dimension == "sale_class" or None in (others if node.is_rest else listed):
        return None
    if node.is_rest and len(others) < len(listed):
        return [{"conditions": [f"{dimension} != {_value(value)}" for value in sorted(others)]}]
    if dimension in _KEYS:
        return [{_KEYS[dimension]: value} for value in listed]
    return [{"conditions": [f"{dimension} = {_value(value)}"]} for value in listed]


def _value(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"'{value}'"


def _spans(places: tuple[int, ...], days: list[Any]) -> Limits | None:
    """Return the first and last day of each run of days; before and after all days there is no limit."""
    last = len(days) - 1 - (days[-1] is None)
    first_last = [
        ({} if first == 0 else {"from": days[first]}) | ({} if end == last else {"to": days[end]})
        for first, end in runs_of_days(places, days)
    ]
    return [{"conditions": [], **limits} for limits in first_last] or None
