"""Find how the amounts of a population are rounded, on orders whose prices have more decimals than their currency."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.evidence.amounts import lines
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
    rows = con.execute(filled("roundings", target=target, lines=lines(target))).fetchall()
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
