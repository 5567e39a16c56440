"""Gather the evidence of both rule targets into relations of schema raw for sql/audit/.

Formulas are judged out of the pattern tables, mart.orders and raw.settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.warehouse.evidence import residuals, verdicts, wording
from pipelines.warehouse.evidence.populations import DIMENSIONS, Population, Tree, find_populations
from pipelines.warehouse.inputs.relations import fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from pipelines.warehouse.evidence.verdicts import Judgement


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
    roundings: dict[int, residuals.PopulationRounding] = field(default_factory=dict)
    residuals: dict[int, residuals.Residual] = field(default_factory=dict)


def gather_evidence(con: duckdb.DuckDBPyConnection) -> None:
    """Judge both rule targets from all orders, and fill the relations of FORMULA_EVIDENCE."""
    limits = "select formula_min_distinguishing_orders, formula_max_violation_rate from raw.settings"
    asked = verdicts.EvidenceThresholds(*con.execute(limits).fetchall()[0])
    found = [gather_target(con, target, asked) for target in TARGETS]
    fill(con, "raw.formula_populations", (row for each in found for row in _populations(each, asked)))
    fill(con, "raw.formula_divisions", (row for each in found for row in _divisions(each)))
    fill(con, "raw.formula_evidence", (row for each in found for row in _evidence(each, asked)))
    for name in ("facts", "texts", "leaves", "leaf_forms", "wanted", "off_orders", "moves"):
        con.execute(f"drop table if exists temp.{name}")
    for dimension in DIMENSIONS:
        con.execute(f"drop table if exists temp.places_{dimension}")


def gather_target(con: duckdb.DuckDBPyConnection, target: str, asked: verdicts.EvidenceThresholds) -> Gathered:
    """Judge one rule target; leave the temporary table facts with the node of each order."""
    con.execute(f"""
        create or replace temp table texts as
        select cast(row_number() over (order by holds, fits) - 1 as integer) as pattern_no, holds, fits
        from (select distinct holds, fits from audit.{target}_patterns)
    """)
    texts = con.execute("select holds, fits from texts order by pattern_no").fetchall()
    forms = verdicts.read_forms(con, target)
    fits = verdicts.ones([text[1] for text in texts], len(forms.names)).astype(np.float32)
    patterns = verdicts.Patterns(fits, verdicts.ones([text[0] for text in texts], len(forms.parts)))
    values = {dimension: _places(con, dimension) for dimension in DIMENSIONS}
    joins = "\n".join(f'left join places_{d} on orders."{d}" is not distinct from places_{d}.value' for d in DIMENSIONS)
    places = ", ".join(f"places_{d}.place as {d}" for d in DIMENSIONS)
    con.execute(f"""
        create or replace temp table facts as
        select
            patterns.order_id, cast(-coalesce(settings.{target}_setting_no, 0) as integer) as node,
            texts.pattern_no, {places}
        from audit.{target}_patterns as patterns
        inner join texts on patterns.holds = texts.holds and patterns.fits = texts.fits
        inner join mart.orders as orders on patterns.order_id = orders.order_id
        left join ( -- few orders, mostly none
            from audit.order_rule_settings where {target}_setting_no is not null
        ) as settings on patterns.order_id = settings.order_id
        {joins}
    """)
    settings = _settings(con, target)
    tree = Tree(con, forms, patterns, asked)
    find_populations(tree, {setting_no: form for setting_no, (form, _) in settings.items()})
    nodes = tree.nodes
    if target == "total":
        residuals.divide_by_residuals(tree)
        tree.borrow()
    found = Gathered(forms, patterns, nodes, values)
    for node, judged in _leaves(nodes):
        if target == "total" and judged.verdict == verdicts.NONE and node.setting_no is None:
            likely = residuals.simplest(forms, residuals.stated_totals(con, node.no, limit=f"limit {residuals.SAMPLE}"))
            judged.leader = likely[0] if likely else judged.leader
            judged.fits = round(float(judged.all_fits[judged.leader]))
    leaves = {node.no: judged.leader for node, judged in _leaves(nodes)}
    if target == "subtotal":
        leaves |= _likely_subtotals(con, nodes, asked)
    residuals.create_leaves(con, target, leaves)
    found.roundings = residuals.find_roundings(con, target, asked)
    if target == "total":  # what rounding explains, a rule makes only if it rounds so: breaks are of the rule
        for node, judged in _leaves(nodes):
            if (rounding := found.roundings.get(node.no)) and rounding.fits < rounding.near <= judged.fits:
                judged.fits -= rounding.near - rounding.fits
                verdicts.decide(forms, judged, asked)
    for node in nodes:
        if node.setting_no is not None:
            held = found.roundings.get(node.no, residuals.PopulationRounding(residuals.UNROUNDED, 0, 0, 0))
            found.roundings[node.no] = residuals.PopulationRounding(
                settings[node.setting_no][1], held.orders, held.fits, 0
            )
    found.residuals = residuals.find_residuals(con, target, asked.orders)
    return found


def _likely_subtotals(
    con: duckdb.DuckDBPyConnection, nodes: list[Population], asked: verdicts.EvidenceThresholds
) -> dict[int, int]:
    """Return node → form for leaves without a rule that would follow the form of the others but for a factor."""
    judged = list(_leaves(nodes))
    holding = [(each.fits, each.leader) for _, each in judged if each.verdict != verdicts.NONE]
    _, usual = max(holding, default=(0, _USUAL))
    tried = {node.no: each for node, each in judged if each.verdict == verdicts.NONE and node.setting_no is None}
    if not tried:
        return {}
    residuals.create_leaves(con, "subtotal", dict.fromkeys(tried, usual))
    patterns = residuals.find_residuals(con, "subtotal", asked.orders)
    found = {no for no, each in patterns.items() if each.kind == "negated" or each.base == "subtotal"}
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


def _places(con: duckdb.DuckDBPyConnection, dimension: str) -> list[Any]:
    """Return the values of a dimension, in their order, null last; make a temporary table of their places."""
    con.execute(f"""
        create or replace temp table places_{dimension} as
        select value, cast(row_number() over (order by value nulls last) - 1 as integer) as place
        from (select distinct "{dimension}" as value from mart.orders)
    """)
    rows = con.execute(f"select value from places_{dimension} order by place").fetchall()
    return [row[0] for row in rows]


def _leaves(nodes: list[Population]) -> Iterator[tuple[Population, Judgement]]:
    for node in nodes:
        if node.judgement is not None and not node.dimension:
            yield node, node.judgement


def _populations(found: Gathered, asked: verdicts.EvidenceThresholds) -> Iterator[tuple[Any, ...]]:
    forms = found.forms
    for node, judged in _leaves(found.nodes):
        rival = wording.rival_of(forms, judged)
        told = wording.distinguishing(forms, found.patterns, node.weights, judged.leader, rival)
        rounding = found.roundings.get(node.no)
        residual = found.residuals.get(node.no)
        pattern = wording.residual(residual) if residual else None
        is_configured = node.setting_no is not None
        needed = None
        if judged.verdict == verdicts.COMPATIBLE:
            needed = verdicts.orders_needed(judged.fits, judged.orders, 1 - asked.noise)
        yield (
            forms.target,
            node.no,
            wording.scope(node, found.values),
            judged.verdict,
            judged.leader + 1,
            rounding.rounding_no if rounding else residuals.UNROUNDED,
            node.setting_no,
            forms.target == "total" and judged.orders < asked.orders,
            [part + 1 for part in judged.open_parts],
            [form + 1 for form in judged.candidates],
            judged.orders,
            judged.fits,
            verdicts.lower_bound(judged.fits, judged.orders),
            len(judged.candidates),
            max(asked.orders - judged.orders, 0) or needed,
            None if rival is None else rival + 1,
            *told,
            wording.deciding(forms, judged, asked),
            pattern,
            wording.sentence(forms, judged, asked, told, rounding, pattern, is_configured=is_configured),
            *((residual.kind, residual.amount, residual.base or None) if residual else (None, None, None)),
            (residual and residual.condition) or None,
            wording.settlement(forms, node, judged, residual, found.values) if residual else None,
        )


def _divisions(found: Gathered) -> Iterator[tuple[Any, ...]]:
    target = found.forms.target
    for node in found.nodes:
        part = None if node.dimension in ("", *DIMENSIONS) else found.forms.parts.index(node.dimension) + 1
        for child in node.children:
            if child.is_rest:
                yield target, node.no, node.dimension, part, None, True, child.no
                continue
            for place in child.values:
                value = place if part else found.values[node.dimension][place]
                yield target, node.no, node.dimension, part, None if value is None else str(value), False, child.no


def _evidence(found: Gathered, asked: verdicts.EvidenceThresholds) -> Iterator[tuple[Any, ...]]:
    forms = found.forms
    for node, judged in _leaves(found.nodes):
        most = np.argsort(np.where(forms.is_found, -judged.all_fits, 1), kind="stable")[:_SHOWN]
        for form in sorted({0, judged.leader, *judged.candidates, *map(int, most)}):
            parts = [part for part in range(len(forms.parts)) if forms.is_tested[part] and judged.held[part]]
            for part in (None, *parts):
                orders = judged.orders if part is None else int(judged.held[part])
                fits = round(float(judged.all_fits[form] if part is None else judged.held_fits[part, form]))
                least = verdicts.fewest_fits(orders, asked.noise) if orders >= asked.orders else None
                yield (
                    forms.target,
                    node.no,
                    form + 1,
                    None if part is None else part + 1,
                    orders,
                    fits,
                    least,
                    form == judged.leader and judged.verdict not in (verdicts.NONE, verdicts.NOT_TESTED),
                    form not in judged.candidates,
                )
