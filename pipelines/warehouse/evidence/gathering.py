"""Gather the evidence for both rule targets, subtotal and total, into relations of schema raw for sql/audit/.

Evidence comes from the pattern tables, which state the forms that fit each order, from mart.orders and from settings.
Orders are divided into populations that one form explains; for each, a sentence says what its orders show, and, where
many share a difference, the settings that would settle it are written out. A person pastes them; nothing is put in
force here.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import numpy as np

from pipelines.warehouse.catalogue.selects import filled
from pipelines.warehouse.evidence import populations, residuals, verdicts
from pipelines.warehouse.evidence.populations import DAYS, DIMENSIONS, Population, Tree
from pipelines.warehouse.evidence.residuals import COMMON, UNIT, Residual
from pipelines.warehouse.evidence.verdicts import EvidenceThresholds, Forms, Judgement, Patterns, PopulationRounding
from pipelines.warehouse.inputs.relations import fill

_LISTED = 4  # values that are listed before the rest is counted
_COMPARED = {"subtotal": "with lines and a subtotal", "total": "that state all amounts"}
_BASES = {
    "subtotal_less_discount": "(subtotal - discount)",
    "subtotal_less_all_discounts": "(subtotal - discount - loyalty discount)",
    "subtotal_and_delivery": "(subtotal + delivery)",
    "subtotal_and_delivery_less_all_discounts": "(subtotal + delivery - discount - loyalty discount)",
    "loyalty": "loyalty discount",
    "discount_above_subtotal": "what the discount has above the subtotal",
}


def describe_scope(node: Population, values: dict[str, list[Any]]) -> str:
    """Say which orders a population is: 'platform kiosk; from 2026-11-01'."""
    if node.setting_no is not None:
        return f"orders of [[formula.rule]] no. {node.setting_no}"
    found: list[str] = []
    while node.parent is not None:
        found.insert(0, _condition(node, node.parent, values))
        node = node.parent
    return "; ".join(found) or "all orders"


def _condition(node: Population, parent: Population, values: dict[str, list[Any]]) -> str:
    dimension = parent.dimension
    if dimension not in DIMENSIONS:
        return f"{'with' if node.values == (1,) else 'without'} {dimension}"
    if dimension == DAYS:
        return _days(node.values, values[DAYS])
    others = [value for child in parent.children if child is not node for value in child.values]
    name = dimension.replace("_id", "").replace("_", " ")
    if node.is_rest and len(others) < len(node.values):
        return f"{name} other than {_listed([values[dimension][value] for value in sorted(others)])}"
    return f"{name} {_listed([values[dimension][value] for value in node.values])}"


def _listed(values: list[Any]) -> str:
    shown = ", ".join("not stated" if value is None else str(value) for value in values[:_LISTED])
    return shown + (f" and {len(values) - _LISTED} more" if len(values) > _LISTED else "")


def runs_of_days(places: tuple[int, ...], days: list[Any]) -> list[list[int]]:
    """Return the first and last place of each run of days; a place without a day is in none."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if days[place] is None:
            continue
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return runs


def _days(places: tuple[int, ...], days: list[Any]) -> str:
    last = len(days) - 1 - (days[-1] is None)
    texts = []
    for first, end in runs_of_days(places, days):
        later = f"from {days[first]}" if end == last else f"{days[first]} to {days[end]}"
        texts.append(later if first else f"until {days[end]}")
    return " and ".join(texts) or "without a date"


def find_rival(forms: Forms, found: Judgement) -> int | None:
    """Return the nearest rival of the leader: a candidate that remains, else the form that fits most of the others."""
    differing = forms.differs[found.leader].any(axis=1) & forms.is_found
    among = [form for form in found.candidates if differing[form]] or [int(form) for form in np.flatnonzero(differing)]
    return min(among, key=lambda form: (-found.all_fits[form], forms.complexity[form], form), default=None)


def count_distinguishing(
    forms: Forms, patterns: Patterns, weights: Any, leader: int, rival: int | None
) -> tuple[int, int]:
    """Return how many orders hold what two forms treat differently, and how many of those the leader fits."""
    if rival is None:
        return 0, 0
    told = patterns.holds[:, forms.differs[leader, rival]].any(axis=1)
    return int(weights[told].sum()), round(float((weights[told] * patterns.fits[told, leader]).sum()))


def list_deciding(forms: Forms, found: Judgement, thresholds: EvidenceThresholds) -> list[str]:
    """Say which orders would decide the open parts, and how many more of them."""
    texts = []
    for part in found.open_parts:
        held = int(found.held[part])
        more = max(thresholds.orders - held, 0)
        fits = round(float(found.held_fits[part, found.leader]))
        about = f" ({fits} of {held} fit, {more} more would decide)" if held and more else ""
        texts.append(forms.deciding_cases[part] + about)
    return texts


def word_evidence(
    forms: Forms,
    found: Judgement,
    thresholds: EvidenceThresholds,
    told: tuple[int, int],
    rounding: PopulationRounding | None,
    residual_text: str | None,
    *,
    is_configured: bool,
) -> str:
    """Say what a population shows: which rule, how many fit, what could tell it from its rival, what would decide."""
    rule = f"{forms.target}{' =' if forms.target == 'total' else ':'} {forms.descriptions[found.leader]}"
    configured = "configured, " if is_configured else ""
    if found.verdict == verdicts.NOT_TESTED:
        return f"{forms.target}: {configured}not tested: no orders {_COMPARED[forms.target]}"
    texts = [f"{rule}: {configured}{_verdict(forms, found, thresholds)}"]
    if found.verdict != verdicts.NONE and told[0]:
        texts.append(f"{told[0]:,} orders distinguish it from its nearest rival, {told[1]:,} of them fit")
    if rounding is not None and rounding.rounding_no > 1:
        rivals = f", {rounding.rivals} other roundings remain" if rounding.rivals else ""
        texts.append(f"its rounding fits {rounding.fits:,} of {rounding.orders:,} rounded orders{rivals}")
    if residual_text:
        texts.append(residual_text)
    return "; ".join(texts)


def _verdict(forms: Forms, found: Judgement, thresholds: EvidenceThresholds) -> str:
    fits, judged = f"{found.fits:,} of {found.orders:,} fit", found.assess()
    if judged.is_good:
        return f"{verdicts.SUPPORTED}, {fits}"
    if judged.wrong:
        return f"refuted, {_refutation(forms, found, thresholds)}; no candidate holds"
    open_parts = ", ".join(forms.parts[part] for part in found.open_parts)
    if found.verdict == verdicts.AGREED:
        return f"{fits}; {len(found.candidates)} candidates remain and all agree but for: {open_parts}"
    if found.verdict == verdicts.UNDECIDED:
        return f"undecided, {fits}; {len(found.candidates)} candidates remain, which differ on: {open_parts}"
    if found.orders < thresholds.orders:
        return f"compatible, {fits}; {thresholds.orders - found.orders} more orders needed"
    needed = verdicts.orders_needed(found.fits, found.orders, 1 - thresholds.noise)
    more = "no number of orders at this rate would support it" if needed is None else f"{needed:,} more orders needed"
    share, least = found.fits / found.orders, verdicts.lower_bound(found.fits, found.orders)
    allowed = f"settings allow {thresholds.noise:.3g} to differ"
    return f"compatible, {fits} ({share:.1%}, at least {least:.1%}); {allowed}: {more}"


def _refutation(forms: Forms, found: Judgement, thresholds: EvidenceThresholds) -> str:
    """Say on which orders the leader fails most clearly."""
    if found.fits < verdicts.fewest_fits(found.orders, thresholds.noise):
        return f"{found.fits:,} of {found.orders:,} fit"
    tested = np.flatnonzero(forms.is_tested & (found.held >= thresholds.orders))
    worst = min(tested, key=lambda part: found.held_fits[part, found.leader] / found.held[part])
    fits, held = round(float(found.held_fits[worst, found.leader])), int(found.held[worst])
    return f"{fits:,} of {held:,} orders with {forms.parts[worst]} fit"


def word_residual(found: Residual) -> str:
    """Say the common trait of orders that are off: '1,500 of 1,500 that differ are off by 0.99'."""
    off = _plain(found.amount)
    traits = {"zero": "state 0", "negated": "state the negative", "step": f"are rounded to multiples of {off}"}
    traits["unit"] = "are off by the smallest unit of their currency"
    if found.base:
        off = f"{_plain(100 * found.amount)}% of {_BASES.get(found.base, found.base)}"
        off += f", {found.kind.replace('_', ' ')} {_plain(Decimal(found.bound) / UNIT)}" if found.bound else ""
    where = f", all of them with {found.condition}" if found.condition else ""
    return f"{found.fits:,} of {found.orders:,} that differ {traits.get(found.kind, f'are off by {off}{where}')}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


_MOST = 100  # tables of settings that anybody would paste
_KEYS = {"platform": "platform", "dispatch_method": "dispatch_method", "store_id": "store", "status": "status"}
_AMOUNTS = {"tip": "tip", "delivery": "delivery_price", "discount": "discount", "loyalty": "loyalty_discount"}
_COLUMNS = {"subtotal": "subtotal_price", **_AMOUNTS}  # of bases, as conditions name them
_STATED = {"zero": "zero/unrounded", "negated": "negated/unrounded"}
_FACTORS = (("negated", ""), ("share", "subtotal"))  # kinds and bases that a price_factor makes
_ALL = 0.99  # the share of orders that are off where all are, but for some that chance lets fit
_CLEAR = 0.8  # the share of orders by which a rounding is told, where others are off by a unit
Limits = list[dict[str, Any]]


def word_settlement(
    forms: Forms,
    node: Population,
    judged: Judgement,
    found: Residual | None,
    values: dict[str, list[Any]],
    thresholds: EvidenceThresholds,
) -> str | None:
    """Return tables of settings below how many orders add up by them; None if none can say it.

    They are components, or the rule of those that follow one. A rule by itself is of use where most orders follow it,
    and the others are off in one way for no reason that an order states, or are few.
    """
    scopes = limits_of(node, values) if node.setting_no is None else None
    if found is not None and (found.base, found.condition) == ("discount_above_subtotal", ""):
        scopes = [{"conditions": []}]  # of other orders the base is zero
    if not scopes or len(scopes) > _MOST:
        return None
    rule = _rule(f"{forms.names[judged.leader]}/unrounded")
    if found is None:
        is_clear = forms.target == "total" and judged.verdict == verdicts.NONE
        made, right = [rule] if is_clear and judged.fits >= COMMON * judged.orders else [], judged.fits
    elif forms.target == "subtotal":
        made, right = _factors(judged, found), found.fits
    else:
        made, right = _of_total(rule, judged, found, thresholds)
    tables = "\n".join(_table(head | limits) for head in made for limits in scopes)
    counts = f"{right:,} of {judged.orders:,} orders would add up exactly, {judged.orders - right:,} would not"
    return f"# {describe_scope(node, values)}: {counts}\n{tables}" if tables else None


def _factors(judged: Judgement, found: Residual) -> list[dict[str, Any]]:
    factor = Decimal(-1) if found.kind == "negated" else 1 - found.amount
    written = _plain(factor)
    component = {"": "component", "name": f"prices by {written}", "price_factor": written}
    is_factor = (found.kind, found.base) in _FACTORS and factor == round(factor, 4)
    return [component] if is_factor and _is_of_all(judged, found) else []


def _of_total(
    rule: dict[str, Any], judged: Judgement, found: Residual, thresholds: EvidenceThresholds
) -> tuple[list[dict[str, Any]], int]:
    """Return the tables for a total's pattern, and how many orders add up by them."""
    if found.kind == "step":
        return _components(found) if found.is_of_all else [], found.fits
    if found.kind in _STATED:
        return [_rule(_STATED[found.kind])] if _is_of_all(judged, found) else [], found.fits
    if found.kind != "unit" and (_is_of_all(judged, found) or found.condition is not None):
        right, near = judged.fits + found.exact, judged.fits + found.fits
        if right < _CLEAR * judged.orders or near < COMMON * judged.orders:
            return [], right  # right orders would be breaks by it
        # orders that are off by a unit refute the rule, which a person may know all the same
        is_clear = right >= verdicts.fewest_fits(judged.orders, thresholds.noise) or not _is_rounded(found)
        made = _components(found)
        return [*made, *([] if is_clear or not made else [rule])], right
    most = judged.verdict == verdicts.NONE and 2 * judged.fits > judged.orders
    return [rule] if most else [], judged.fits


def _is_of_all(judged: Judgement, found: Residual) -> bool:
    return found.orders >= _ALL * judged.orders and found.fits >= COMMON * found.orders


def _is_rounded(found: Residual) -> bool:
    return bool(found.rounding) and found.exact >= _CLEAR * found.fits


def _rule(name: str) -> dict[str, Any]:
    return {"": "rule", "rule_target": "total", "rule": name}


def _components(found: Residual) -> list[dict[str, Any]]:
    """Return what makes the pattern: a component, and of a share with a bound two, if a condition can name the base."""
    amount, limits = _plain(found.amount), [found.condition] if found.condition else []
    of = {"share": amount, "base": found.base} if found.base else {found.kind: amount}
    of |= {"round": found.rounding} if _is_rounded(found) else {}
    made = {"": "component", "name": f"{amount} of {found.base}" if found.base else amount, **of}
    if not found.bound:
        return [made | {"when": found.condition} if limits else made]
    if found.base not in _COLUMNS:
        return []
    reached, bound = _plain(Decimal(found.reached_at) / UNIT), _plain(Decimal(found.bound) / UNIT)
    whens = [" and ".join([f"{_COLUMNS[found.base]} {side} {reached}", *limits]) for side in ("<", ">=")]
    below, from_there = whens if found.kind == "at_most" else whens[::-1]
    return [made | {"when": below}, {"": "component", "name": bound, "constant": bound, "when": from_there}]


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
    spans = [(first, {} if end == last else {"to": days[end]}) for first, end in runs_of_days(places, days)]
    return [{"conditions": [], **({"from": days[first]} if first else {}), **until} for first, until in spans] or None


TARGETS = ("subtotal", "total")
_USUAL = 1  # place of the form by which price and modifiers count for each unit
_SHOWN = 10  # forms of a population that are shown besides those that remain: those that fit most


@dataclass
class Gathered:
    """What was found for a rule target, and the values that places of each dimension stand for."""

    forms: verdicts.Forms
    patterns: verdicts.Patterns
    nodes: list[Population]
    values: dict[str, list[Any]]
    roundings: dict[int, verdicts.PopulationRounding] = field(default_factory=dict)
    residuals: dict[int, Residual] = field(default_factory=dict)


def gather_evidence(con: duckdb.DuckDBPyConnection) -> None:
    """Judge both rule targets from all orders, and fill the relations of FORMULA_EVIDENCE."""
    limits = "select formula_min_distinguishing_orders, formula_max_violation_rate from raw.settings"
    thresholds = verdicts.EvidenceThresholds(*con.execute(limits).fetchall()[0])
    values = find_places(con)
    found = [gather_target(con, target, thresholds, values) for target in TARGETS]
    fill(con, "raw.formula_populations", (row for each in found for row in _populations(each, thresholds)))
    fill(con, "raw.formula_divisions", (row for each in found for row in _divisions(each)))
    fill(con, "raw.formula_evidence", (row for each in found for row in _evidence(each, thresholds)))
    made = [*"facts texts leaves wanted off_orders moves".split(), *(f"places_{d}" for d in DIMENSIONS)]
    con.execute("; ".join(f"drop table if exists temp.{name}" for name in made))


def find_roundings(
    con: duckdb.DuckDBPyConnection, target: str, thresholds: EvidenceThresholds
) -> dict[int, PopulationRounding]:
    """Return node → rounding of the leaves that have orders whose amounts are rounded; reads facts and leaves."""
    rounded = f"select order_id from workings.{target}_patterns where is_rounded"
    con.execute(f"create or replace temp table wanted as {rounded}")
    if con.execute("select 1 from wanted limit 1").fetchone() is None:
        return {}
    rows = con.execute(filled("roundings", target=target, lines=filled(f"{target}_lines"))).fetchall()
    found: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    near: dict[int, int] = defaultdict(int)
    for node, fitting, number, near_number in rows:
        found[node][tuple(fitting)] = number
        near[node] += near_number
    judged = ((node, verdicts.judge_rounding(each, thresholds)) for node, each in sorted(found.items()))
    return {node: replace(rounding, near=near[node]) for node, rounding in judged}


def gather_target(
    con: duckdb.DuckDBPyConnection, target: str, thresholds: verdicts.EvidenceThresholds, values: dict[str, list[Any]]
) -> Gathered:
    """Judge one rule target, by dimensions of these `values`; leave in the temporary table facts each order's node."""
    con.execute(f"""
        create or replace temp table texts as
        select cast(row_number() over (order by holds, fits) - 1 as integer) as pattern_no, holds, fits
        from (select distinct holds, fits from workings.{target}_patterns)
    """)
    texts = con.execute("select holds, fits from texts order by pattern_no").fetchall()
    forms = verdicts.read_forms(con, target)
    fits = verdicts.ones([text[1] for text in texts], len(forms.names)).astype(np.float32)
    patterns = verdicts.Patterns(fits, verdicts.ones([text[0] for text in texts], len(forms.parts)))
    joins = "\n".join(f'left join places_{d} on orders."{d}" is not distinct from places_{d}.value' for d in DIMENSIONS)
    places = ", ".join(f"places_{d}.place as {d}" for d in DIMENSIONS)
    con.execute(f"""
        create or replace temp table facts as
        select
            patterns.order_id, cast(-coalesce(settings.{target}_setting_no, 0) as integer) as node,
            texts.pattern_no, {places}
        from workings.{target}_patterns as patterns
        inner join texts on patterns.holds = texts.holds and patterns.fits = texts.fits
        inner join mart.orders as orders on patterns.order_id = orders.order_id
        left join ( -- few orders, mostly none
            from workings.order_rule_settings where {target}_setting_no is not null
        ) as settings on patterns.order_id = settings.order_id
        {joins}
    """)
    settings = _settings(con, target)
    tree = Tree(con, forms, patterns, thresholds)
    populations.find_populations(tree, {setting_no: form for setting_no, (form, _) in settings.items()})
    nodes = tree.nodes
    if target == "total":
        populations.divide_by_residuals(tree)
        tree.borrow()
    found = Gathered(forms, patterns, nodes, values)
    for node, judged in _leaves(nodes):
        is_unlike_all = judged.verdict == verdicts.NONE and 2 * judged.fits < judged.orders  # no form fits half of them
        if target == "total" and is_unlike_all and node.setting_no is None:
            sample = residuals.stated_totals(con, node.no, limit=f"limit {residuals.SAMPLE}")
            likely = residuals.simplest(forms, sample)
            judged.leader = likely[0] if likely else judged.leader
            judged.fits = round(float(judged.all_fits[judged.leader]))
    leaves = {node.no: judged.leader for node, judged in _leaves(nodes)}
    if target == "subtotal":
        leaves |= _likely_subtotals(con, nodes, thresholds)
    populations.create_leaves(con, target, leaves)
    found.roundings = find_roundings(con, target, thresholds)
    if target == "total":
        _count_as_rounded(found, thresholds)
    for node in nodes:
        if node.setting_no is not None:
            held = found.roundings.get(node.no)
            orders, fitting = (held.orders, held.fits) if held else (0, 0)
            found.roundings[node.no] = PopulationRounding(settings[node.setting_no][1], orders, fitting, 0)
    found.residuals = residuals.find_residuals(con, target, thresholds.orders)
    return found


def _count_as_rounded(found: Gathered, thresholds: EvidenceThresholds) -> None:
    """Count an order that a form fits but for rounding only where the form rounds so: its breaks are of the rule."""
    for node, judged in _leaves(found.nodes):
        if (rounding := found.roundings.get(node.no)) and rounding.fits < rounding.near <= judged.fits:
            judged.fits -= rounding.near - rounding.fits
            if node.setting_no is None and judged.fits < verdicts.fewest_fits(judged.orders, thresholds.noise):
                judged.candidates = []  # it rounds in a way that nobody looks for, and no order is a break by it
            verdicts.decide(found.forms, judged, thresholds)


def _likely_subtotals(
    con: duckdb.DuckDBPyConnection, nodes: list[Population], thresholds: verdicts.EvidenceThresholds
) -> dict[int, int]:
    """Return node → form for leaves without a rule that would follow the form of the others but for a factor."""
    judged = list(_leaves(nodes))
    holding = [(each.fits, each.leader) for _, each in judged if each.verdict != verdicts.NONE]
    _, usual = max(holding, default=(0, _USUAL))
    tried = {node.no: each for node, each in judged if each.verdict == verdicts.NONE and node.setting_no is None}
    if not tried:
        return {}
    populations.create_leaves(con, "subtotal", dict.fromkeys(tried, usual))
    patterns = residuals.find_residuals(con, "subtotal", thresholds.orders)
    found = {no for no, each in patterns.items() if (each.kind, each.base) in _FACTORS}
    for no in found:
        tried[no].leader = usual
        tried[no].fits = round(float(tried[no].all_fits[usual]))
    return dict.fromkeys(found, usual)


def _settings(con: duckdb.DuckDBPyConnection, target: str) -> dict[int, tuple[int, int]]:
    """Return setting_no → place of the form and rounding_no, of the rules that settings name."""
    rows = con.execute(
        "select settings.setting_no, rules.form_no - 1, rules.rounding_no from raw.formula_settings as settings "
        "inner join audit.formula_rules as rules on settings.rule_target = rules.rule_target "
        "and settings.rule = rules.rule where settings.rule_target = ? order by all",
        [target],
    ).fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def find_places(con: duckdb.DuckDBPyConnection) -> dict[str, list[Any]]:
    """Return each dimension's values, in their order, null last; make a temporary table of the places of each."""
    values = {}
    for dimension in DIMENSIONS:
        con.execute(f"""
            create or replace temp table places_{dimension} as
            select value, cast(row_number() over (order by value nulls last) - 1 as integer) as place
            from (select distinct "{dimension}" as value from mart.orders)
        """)
        rows = con.execute(f"select value from places_{dimension} order by place").fetchall()
        values[dimension] = [row[0] for row in rows]
    return values


def _leaves(nodes: list[Population]) -> Iterator[tuple[Population, Judgement]]:
    for node in nodes:
        if node.judgement is not None and not node.dimension:
            yield node, node.judgement


def _populations(found: Gathered, thresholds: verdicts.EvidenceThresholds) -> Iterator[tuple[Any, ...]]:
    forms = found.forms
    for node, judged in _leaves(found.nodes):
        rival = find_rival(forms, judged)
        told = count_distinguishing(forms, found.patterns, node.weights, judged.leader, rival)
        rounding, residual = found.roundings.get(node.no), found.residuals.get(node.no)
        pattern, is_configured = word_residual(residual) if residual else None, node.setting_no is not None
        orders = judged.orders
        needed = max(thresholds.orders - orders, 0) or None
        if needed is None and judged.verdict == verdicts.COMPATIBLE:
            needed = verdicts.orders_needed(judged.fits, orders, 1 - thresholds.noise)
        # The formula of the observed order may hold: of orders that were set apart it has to fit most.
        is_likely = node.parent is None or 2 * judged.all_fits[0] >= orders
        is_assumable = forms.target == "total" and orders < thresholds.orders and is_likely
        yield (
            *(forms.target, node.no, describe_scope(node, found.values), judged.verdict, judged.leader + 1),
            *(rounding.rounding_no if rounding else verdicts.UNROUNDED, node.setting_no, is_assumable),
            *([part + 1 for part in judged.open_parts], [form + 1 for form in judged.candidates]),
            *(orders, judged.fits, verdicts.lower_bound(judged.fits, orders), len(judged.candidates), needed),
            *(None if rival is None else rival + 1, *told, list_deciding(forms, judged, thresholds), pattern),
            word_evidence(forms, judged, thresholds, told, rounding, pattern, is_configured=is_configured),
            *((residual.kind, residual.amount, residual.base or None) if residual else (None, None, None)),
            *((Decimal(residual.bound) / UNIT or None, residual.condition or None) if residual else (None, None)),
            word_settlement(forms, node, judged, residual, found.values, thresholds),
        )


def _divisions(found: Gathered) -> Iterator[tuple[Any, ...]]:
    target = found.forms.target
    for node in found.nodes:
        part = None if node.dimension in ("", *DIMENSIONS) else found.forms.parts.index(node.dimension) + 1
        for child in node.children:
            listed = child.values if part else [found.values[node.dimension][place] for place in child.values]
            for value in [None] if child.is_rest else listed:
                said = None if value is None else str(value)
                yield target, node.no, node.dimension, part, said, child.is_rest, child.no


def _evidence(found: Gathered, thresholds: verdicts.EvidenceThresholds) -> Iterator[tuple[Any, ...]]:
    forms = found.forms
    for node, judged in _leaves(found.nodes):
        most = np.argsort(np.where(forms.is_found, -judged.all_fits, 1), kind="stable")[:_SHOWN]
        for form in sorted({0, judged.leader, *judged.candidates, *map(int, most)}):
            parts = [part for part in range(len(forms.parts)) if forms.is_tested[part] and judged.held[part]]
            for part in (None, *parts):
                orders = judged.orders if part is None else int(judged.held[part])
                fits = round(float(judged.all_fits[form] if part is None else judged.held_fits[part, form]))
                least = verdicts.fewest_fits(orders, thresholds.noise) if orders >= thresholds.orders else None
                is_leader = form == judged.leader and judged.verdict not in (verdicts.NONE, verdicts.NOT_TESTED)
                counts = None if part is None else part + 1, orders, fits, least
                yield forms.target, node.no, form + 1, *counts, is_leader, form not in judged.candidates
