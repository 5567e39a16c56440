"""A question too rare in one population is answered as in all others, where these agree."""

from __future__ import annotations

import duckdb
import numpy as np

from pipelines.warehouse.evidence.populations import DIMENSIONS, Population, Tree, find_populations
from pipelines.warehouse.evidence.verdicts import AGREED, SUPPORTED, EvidenceThresholds
from tests.finance.test_verdicts import TIP, patterns

THRESHOLDS = EvidenceThresholds(orders=20, noise=0.05)
PATTERNS = patterns(("01", "10"), ("11", "00"), ("11", "10"), ("10", "10"))  # form 1 with a tip, none, both, form 0


def populations(**orders: list[int]) -> list[Population]:
    """Return populations given how many orders follow each pattern; all but `rest` have a form fixed by hand."""
    con = duckdb.connect()
    places = ", ".join(f"0 as {dimension}" for dimension in DIMENSIONS)
    con.execute(f"create temp table facts as select 0 as node, 0 as pattern_no, {places} limit 0")
    settings = {}
    for number, (name, counts) in enumerate(orders.items()):
        for pattern, count in enumerate(counts):
            con.execute(f"insert into facts select {-number}, {pattern}, {places} from range({count})")
        if name != "rest":
            settings[number] = {"zero": 0, "one": 1}[name]
    tree = Tree(con, TIP, PATTERNS, THRESHOLDS)
    find_populations(tree, settings)
    assert not any(node.dimension for node in tree.nodes)
    return tree.nodes


def shown(node: Population) -> tuple[str, int, list[int]]:
    """Return verdict, leader and the parts that were borrowed."""
    assert node.judgement is not None
    return node.judgement.verdict, node.judgement.leader, node.judgement.borrowed


def test_a_rare_part_is_answered_as_elsewhere() -> None:
    """By populations with as many orders that hold it as settings ask for."""
    rest, one = populations(rest=[0, 990, 10], one=[20, 980])
    assert shown(one) == (SUPPORTED, 1, [])
    assert shown(rest) == (SUPPORTED, 1, [0])
    rest, one = populations(rest=[0, 990, 10], one=[19, 980])
    assert shown(one) == (SUPPORTED, 1, [])
    assert shown(rest) == (AGREED, 0, [])


def test_what_others_answer_in_two_ways_stays_open() -> None:
    """And so does a question with enough orders in the population itself."""
    rest, one, zero = populations(rest=[0, 990, 10], one=[20, 980], zero=[0, 980, 0, 20])
    assert [shown(each) for each in (rest, one, zero)] == [(AGREED, 0, []), (SUPPORTED, 1, []), (SUPPORTED, 0, [])]
    rest, _ = populations(rest=[0, 980, 20], one=[20, 980])
    assert shown(rest)[2] == []
    assert np.array_equal(rest.weights, [0, 980, 20, 0])
