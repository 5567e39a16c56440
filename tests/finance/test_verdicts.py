"""What a population shows, at the very numbers of orders that settings ask for, with a form table of a few columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipelines.warehouse.evidence.gathering import count_distinguishing, find_rival, list_deciding, word_evidence
from pipelines.warehouse.evidence.verdicts import (
    AGREED,
    COMPATIBLE,
    NONE,
    SUPPORTED,
    UNDECIDED,
    UNROUNDED,
    EvidenceThresholds,
    Forms,
    Patterns,
    PopulationRounding,
    judge,
    judge_rounding,
)

THRESHOLDS = EvidenceThresholds(orders=20, noise=0.0)
PARTS = ["tip", "other action"]


def forms(*answers: tuple[int, int]) -> Forms:
    """Return forms that answer two parts so: `tip`, and what keeps no form from being named."""
    given = np.array(answers, dtype=np.int64)
    return Forms(
        "total",
        *2 * ([f"form {place}" for place in range(len(answers))],),
        [list(each) for each in answers],
        np.arange(len(answers), dtype=np.int64),
        PARTS,
        [f"orders with {part}" for part in PARTS],
        np.ones(2, dtype=np.bool_),
        given[:, None] != given[None],
        given,
        np.ones(len(answers), dtype=np.bool_),
    )


def patterns(*rows: tuple[str, str]) -> Patterns:
    """Return patterns as (fits, holds) in ones and zeros."""
    texts = [[[int(each) for each in text] for text in row] for row in rows]
    return Patterns(
        np.array([row[0] for row in texts], dtype=np.float32), np.array([row[1] for row in texts], dtype=np.bool_)
    )


def verdict(
    among: Forms, rows: dict[tuple[str, str], int], thresholds: EvidenceThresholds = THRESHOLDS
) -> tuple[str, int, list[str]]:
    """Return verdict, leader and open parts of so many orders a pattern."""
    found = judge(among, patterns(*rows), np.array(list(rows.values())), thresholds)
    return found.verdict, found.leader, [PARTS[part] for part in found.open_parts]


TIP = forms((1, 0), (0, 0))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({("10", "00"): 20, ("10", "10"): 20}, (COMPATIBLE, 0, [])),  # no noise: no bound clears a share of all
        ({("11", "00"): 1, ("01", "10"): 19}, (COMPATIBLE, 1, [])),
        ({("11", "00"): 1, ("10", "10"): 18}, (COMPATIBLE, 0, ["tip"])),
        ({("11", "10"): 20}, (UNDECIDED, 0, ["tip"])),
        ({("00", "00"): 20}, (NONE, 0, [])),
        ({("00", "00"): 19}, (COMPATIBLE, 0, ["tip"])),
    ],
)
def test_so_many_orders_decide_and_one_less_does_not(rows: dict[tuple[str, str], int], expected: Any) -> None:
    """Of the population, and of those in it that hold a part."""
    assert verdict(TIP, rows) == expected


def test_a_share_is_cleared_by_its_lower_bound_alone() -> None:
    """Of 73 orders that all fit, Wilson's bound is 95%; of 72 it is less."""
    noisy = EvidenceThresholds(orders=20, noise=0.05)
    assert verdict(TIP, {("10", "10"): 73}, noisy) == (SUPPORTED, 0, [])
    assert verdict(TIP, {("10", "10"): 72}, noisy) == (COMPATIBLE, 0, [])
    lax = EvidenceThresholds(orders=20, noise=0.2)
    assert verdict(TIP, {("10", "10"): 20}, lax) == (SUPPORTED, 0, [])
    assert verdict(TIP, {("10", "10"): 19}, lax) == (COMPATIBLE, 0, ["tip"])
    assert verdict(TIP, {("10", "10"): 20, ("11", "00"): 980}, noisy) == (SUPPORTED, 0, [])
    assert verdict(TIP, {("10", "10"): 19, ("11", "00"): 981}, noisy) == (AGREED, 0, ["tip"])


def test_what_services_never_send_keeps_no_form_from_being_named() -> None:
    """Two forms that differ in other actions alone: the first is named; with orders that hold them it is open."""
    among, noisy = forms((1, 0), (1, 1)), EvidenceThresholds(orders=20, noise=0.05)
    assert verdict(among, {("11", "10"): 100}, noisy) == (SUPPORTED, 0, ["other action"])
    assert verdict(among, {("11", "11"): 100}, noisy) == (UNDECIDED, 0, ["other action"])


def test_a_configured_form_leads_whatever_fits() -> None:
    """And is refuted like any other."""
    rows = {("10", "10"): 100}
    found = judge(TIP, patterns(*rows), np.array(list(rows.values())), THRESHOLDS, only=1)
    assert (found.verdict, found.leader, found.fits, found.candidates) == (NONE, 1, 0, [])


def test_none_fits_better_than_chance() -> None:
    """Where all are refuted the leader is the best only if it fits a quarter of the orders."""
    assert verdict(TIP, {("00", "00"): 75, ("01", "10"): 25})[1] == 1
    assert verdict(TIP, {("00", "00"): 76, ("01", "10"): 24})[1] == 0


@pytest.mark.parametrize(
    ("fitting", "expected"),
    [
        ({(1, 2): 20}, PopulationRounding(UNROUNDED, 20, 20, 0)),  # nothing shows a rounding
        ({(2,): 20, (1, 2, 3): 5}, PopulationRounding(2, 25, 25, 0)),
        ({(2,): 19, (1, 2, 3): 5, (2, 3): 1}, PopulationRounding(2, 25, 25, 1)),
        ({(2, 3): 25}, PopulationRounding(2, 25, 25, 1)),  # both, all the time
        ({(2,): 20, (3,): 5}, PopulationRounding(UNROUNDED, 25, 0, 0)),  # none holds
        ({(2,): 10, (3, 2): 10, (2, 4): 10}, PopulationRounding(2, 30, 30, 0)),
        ({(): 20}, PopulationRounding(UNROUNDED, 20, 0, 0)),
    ],
)
def test_a_rounding_is_named_where_its_rivals_fail(
    fitting: dict[tuple[int, ...], int], expected: PopulationRounding
) -> None:
    """Among as many orders as settings ask for, in which only one of the two fits."""
    assert judge_rounding(fitting, THRESHOLDS) == expected


def said(
    rows: dict[tuple[str, str], int], rounding: PopulationRounding | None = None, residual: str | None = None
) -> str:
    """Return the sentence of so many orders a pattern at a noise of 5%."""
    thresholds, among = EvidenceThresholds(orders=20, noise=0.05), patterns(*rows)
    weights = np.array(list(rows.values()))
    found = judge(TIP, among, weights, thresholds)
    told = count_distinguishing(TIP, among, weights, found.leader, find_rival(TIP, found))
    return word_evidence(TIP, found, thresholds, told, rounding, residual, is_configured=False)


def test_a_sentence_has_what_is_known_and_no_more() -> None:
    """Fits, the nearest rival, a rounding with its rivals, residuals; what would decide."""
    clear = {("10", "10"): 30, ("11", "00"): 70}
    rule = "total = form 0: supported, 100 of 100 fit; 30 orders distinguish it from its nearest rival, 30 of them fit"
    assert said(clear) == rule
    assert said(clear, PopulationRounding(UNROUNDED, 40, 0, 0)) == rule
    assert said(clear, PopulationRounding(2, 40, 39, 0)) == f"{rule}; its rounding fits 39 of 40 rounded orders"
    assert said(clear, PopulationRounding(2, 40, 39, 2)).endswith("rounded orders, 2 other roundings remain")
    assert said(clear, residual="10 are off by 0.99") == f"{rule}; 10 are off by 0.99"
    assert said({("00", "10"): 100}).startswith("total = form 0: refuted, ")
    assert said({("10", "10"): 19}).startswith("total = form 0: compatible, 19 of 19 fit; 1 more orders needed")
    assert said({("10", "10"): 20}).startswith(
        "total = form 0: compatible, 20 of 20 fit (100.0%, at least 83.9%); "
        "settings allow 0.05 to differ: 53 more orders needed"
    )
    few = {("10", "10"): 5, ("11", "00"): 95}
    found = judge(TIP, patterns(*few), np.array(list(few.values())), EvidenceThresholds(orders=20, noise=0.05))
    assert list_deciding(TIP, found, EvidenceThresholds(orders=20, noise=0.05)) == [
        "orders with tip (5 of 5 fit, 15 more would decide)"
    ]
    none = {("11", "00"): 100}
    found = judge(TIP, patterns(*none), np.array(list(none.values())), EvidenceThresholds(orders=20, noise=0.05))
    assert list_deciding(TIP, found, EvidenceThresholds(orders=20, noise=0.05)) == ["orders with tip"]
