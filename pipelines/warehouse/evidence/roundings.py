"""Find how the amounts of a population are rounded, on the orders whose prices have more decimals than their currency.

Knows nothing of how populations are found.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.warehouse.evidence.amounts import LINES
from pipelines.warehouse.evidence.chances import fewest_fits

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.evidence.verdicts import Asked

UNROUNDED = 1  # rounding_no of audit.formula_rules


@dataclass(frozen=True)
class Rounding:
    """The rounding of a population: rounding_no, on how many orders it shows, and its rivals that remain."""

    rounding_no: int
    orders: int
    fits: int
    rivals: int


def find_roundings(con: duckdb.DuckDBPyConnection, target: str, asked: Asked) -> dict[int, Rounding]:
    """Return node → rounding of the leaves that have orders whose amounts are rounded; reads facts and leaves."""
    con.execute(f"create or replace temp table wanted as select order_id from audit.{target}_patterns where is_rounded")
    if con.execute("select 1 from wanted limit 1").fetchone() is None:
        return {}
    rows = con.execute(
        f"""
        with lines as ({LINES[target]}),

        roundings as (
            select rounding_no, rounding_mode as mode, rounded_per as per, kept_decimals,
                cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 8)) as kept
            from audit.formula_rules
            where rule_target = '{target}' and form_no = 1
        ),

        amounts as (
            select
                lines.order_id, lines.node, roundings.rounding_no, any_value(stated) as stated,
                sum(case
                    when per = 'unit' then quantity * rounded(cast(per_unit as decimal(38, 8)), mode, kept)
                    when per = 'line'
                        then rounded(cast(quantity * per_unit + per_line as decimal(38, 8)), mode, kept)
                    else quantity * per_unit + per_line
                end) + any_value(rest) as summed,
                if(any_value(per) = 'order',
                    rounded(cast(summed as decimal(38, 8)), any_value(mode), any_value(kept)),
                    summed) = any_value(stated) as is_fitting
            from lines
            inner join roundings
                on (per is distinct from 'unit' or is_by_unit)
                and (per is null or digits is null or digits = kept_decimals)
            group by lines.order_id, lines.node, roundings.rounding_no
        ),

        answers as (
            select node, order_id, list(rounding_no order by rounding_no) filter (where is_fitting) as fitting
            from amounts
            group by node, order_id
        )

        select node, coalesce(fitting, []), count(*) from answers group by all order by all
        """
    ).fetchall()
    found: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    for node, fitting, number in rows:
        found[node][tuple(fitting)] = number
    return {node: judge_rounding(patterns, asked) for node, patterns in sorted(found.items())}


def judge_rounding(patterns: dict[tuple[int, ...], int], asked: Asked) -> Rounding:
    """Judge the roundings given how many orders fit which of them; without one that holds, nothing is rounded."""
    orders = sum(patterns.values())
    fits: dict[int, int] = defaultdict(int)
    for fitting, number in patterns.items():
        for rounding in fitting:
            fits[rounding] += number
    least = fewest_fits(orders, asked.noise)
    leader = min(fits, key=lambda rounding: (-fits[rounding], rounding), default=UNROUNDED)
    if fits[UNROUNDED] >= least or fits[leader] < least:
        return Rounding(UNROUNDED, orders, fits[UNROUNDED], 0)
    rivals = sum(not _is_beaten(patterns, leader, rival, asked) for rival in fits if rival != leader)
    return Rounding(leader, orders, fits[leader], rivals)


def _is_beaten(patterns: dict[tuple[int, ...], int], leader: int, rival: int, asked: Asked) -> bool:
    won = sum(number for fitting, number in patterns.items() if leader in fitting and rival not in fitting)
    lost = sum(number for fitting, number in patterns.items() if rival in fitting and leader not in fitting)
    return won + lost >= asked.orders and won >= fewest_fits(won + lost, asked.noise)
