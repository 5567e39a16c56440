"""The re-fetch planner: orders due, in which sequence, within which budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pipelines.inbox.planner import KnownOrder, add_plan, plan
from pipelines.settings import load_settings

if TYPE_CHECKING:
    import random

    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Planner

NOW = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)
SETTINGS = load_settings(environ={}).planner
NO_SAMPLE = msgspec.structs.replace(SETTINGS, sample_size=0)


def limited(planner: Planner, budget: int) -> Planner:
    """Return settings with this budget of requests."""
    return msgspec.structs.replace(planner, request_budget=budget)


def order(id_: int, age: dict[str, float], checked: dict[str, float] | None, **more: Any) -> KnownOrder:
    """Make an order of this age that was checked so long ago."""
    last = None if checked is None else NOW - timedelta(**checked)
    return KnownOrder(id_, NOW - timedelta(**age), last, more.pop("status", "preparing"), **more)


@pytest.mark.parametrize(
    ("age", "checked", "tier"),
    [
        ({"hours": 5}, {"minutes": 59}, None),
        ({"hours": 5}, {"minutes": 60}, "hot"),
        ({"hours": 24}, {"hours": 2}, "hot"),
        ({"hours": 25}, {"hours": 2}, None),
        ({"hours": 25}, {"hours": 24}, "warm"),
        ({"days": 8}, {"days": 2}, None),
        ({"days": 8}, {"days": 7}, "cold"),
        ({"days": 35}, {"days": 7}, "cold"),
        ({"days": 36}, {"days": 30}, None),
        ({"days": 36}, None, None),
        ({"hours": -3}, {"hours": 2}, "hot"),
        ({"days": 3}, None, "warm"),
    ],
)
def test_age_decides_how_often(age: dict[str, float], checked: dict[str, float] | None, tier: str | None) -> None:
    """Hourly in the first day, daily for a week, weekly to 35 days, then no more."""
    assert [one.tier for one in plan([order(1, age, checked)], NOW, NO_SAMPLE).due] == ([tier] if tier else [])


def test_orders_checked_while_the_clock_was_ahead_are_due() -> None:
    """A check of next year stops no request until then; overdue orders come first, then the earliest check."""
    orders = [
        order(1, {"hours": 5}, {"days": -400}),
        order(2, {"hours": 5}, {"hours": 2}),
        order(3, {"hours": 5}, {"days": -40}),
        order(4, {"hours": 5}, {"minutes": 30}),
    ]
    planned = plan(orders, NOW, NO_SAMPLE)
    assert [one.id for one in planned.due] == [2, 3, 1]
    assert planned.resting == 1


def test_an_order_of_unknown_age_is_asked_for_weekly() -> None:
    """Without a time of creation an order may still change, however long it is known."""
    unknown = KnownOrder(1, None, NOW - timedelta(days=7), None)
    assert [one.tier for one in plan([unknown], NOW, NO_SAMPLE).due] == ["cold"]
    assert plan([replace(unknown, last_checked_at=NOW)], NOW, NO_SAMPLE).resting == 1


def test_final_statuses_are_none_by_default() -> None:
    """No status is final unless settings say so; then only the sample looks at such orders."""
    delivered = order(1, {"hours": 5}, {"hours": 2}, status="delivered")
    assert plan([delivered], NOW, SETTINGS).due[0].id == 1
    final = plan([delivered], NOW, msgspec.structs.replace(SETTINGS, final_statuses=("delivered",)))
    assert (final.due, final.sample, final.final) == ((), (1,), 1)


def test_missing_ones_come_first_an_hour_apart() -> None:
    """An order that was not found is requested again after an hour, before all others; a deleted one never."""
    orders = [
        order(1, {"hours": 5}, {"hours": 20}),
        order(2, {"days": 300}, {"minutes": 61}, presence="not_found", status="delivered"),
        order(3, {"days": 300}, {"minutes": 59}, presence="not_found"),
        order(4, {"hours": 5}, {"hours": 20}, presence="deleted"),
    ]
    assert [one.id for one in plan(orders, NOW, SETTINGS).due] == [2, 1]


def test_a_short_budget_goes_to_the_young_and_overdue() -> None:
    """With too small a budget the tiers come in order and within a tier the most overdue; the rest is counted."""
    orders = [
        order(1, {"days": 20}, {"days": 15}),
        order(2, {"days": 3}, {"days": 1}),
        order(3, {"days": 3}, {"days": 2}),
        order(4, {"hours": 3}, {"hours": 1}),
        order(5, {"hours": 3}, {"hours": 2}),
    ]
    chosen = plan(orders, NOW, limited(NO_SAMPLE, 3))
    assert [one.id for one in chosen.due] == [5, 4, 3]
    assert chosen.left_out == {"warm": 1, "cold": 1}
    assert "2 that are due exceed the budget" in chosen.sentence()


def test_an_archive_is_not_asked_for() -> None:
    """Old orders that only an archive showed are neither queued nor drawn."""
    archived = [order(n, {"days": 200}, None, archive_only=True) for n in range(50)]
    nothing = plan(archived, NOW, SETTINGS)
    assert (nothing.requests, nothing.population) == (0, 0)


@pytest.mark.parametrize(("budget", "due", "sampled"), [(10, 5, 5), (9, 5, 4), (1, 1, 0), (0, 0, 0), (200, 100, 50)])
def test_sample_takes_at_most_half_of_the_budget(budget: int, due: int, sampled: int) -> None:
    """However short the budget is, orders due get the larger half of it."""
    orders = [order(id_, {"hours": 5}, {"hours": 2}) for id_ in range(100)]
    orders += [order(id_, {"days": 99}, {"days": 30}) for id_ in range(100, 200)]
    chosen = plan(orders, NOW, msgspec.structs.replace(SETTINGS, sample_size=50, request_budget=budget))
    assert (len(chosen.due), len(chosen.sample)) == (due, sampled)


def test_the_sample_is_even() -> None:
    """Every old order has the same chance to be drawn."""
    old = [order(n, {"days": 100}, {"days": 50}) for n in range(40)]
    settings = msgspec.structs.replace(SETTINGS, sample_size=10)
    drawn = [0] * 40
    for seed in range(2_000):
        for id_ in plan(old, NOW, settings, seed=seed).sample:
            drawn[id_] += 1
    assert sum(drawn) == 20_000
    # 500 each; four standard deviations of a binomial with 2,000 trials of 1/4 are 77.
    assert all(423 <= times <= 577 for times in drawn)


def test_add_plan_merges_with_notifications(work: WorkList) -> None:
    """An order that is planned, sampled and notified is one entry with each reason."""
    work.add("orders", [1, 2], "webhook")
    orders = [order(1, {"hours": 5}, {"hours": 2}), order(2, {"days": 100}, {"days": 50})]
    add_plan(work, plan(orders, NOW, SETTINGS))
    assert work.due("orders") == [1, 2]
    first, second = work.entry("orders", 1), work.entry("orders", 2)
    assert first is not None
    assert second is not None
    assert (first.why, second.why) == ({"webhook", "planner"}, {"webhook", "sample"})


AGES = st.none() | st.timedeltas(timedelta(days=-1), timedelta(days=60)).map(lambda age: NOW - age)
ORDERS = st.lists(
    st.builds(
        KnownOrder,
        st.integers(1, 10_000),
        AGES,
        AGES,
        st.sampled_from([None, "preparing", "done"]),
        st.sampled_from(["present", "present", "not_found", "deleted"]),
        st.booleans(),
    ),
    unique_by=lambda one: one.id,
    max_size=60,
)


@hypothesis_settings(deadline=None)
@given(orders=ORDERS, budget=st.integers(0, 70), sample=st.integers(0, 70), final=st.booleans())
def test_the_budget_holds_and_the_order_is_right(
    orders: list[KnownOrder], budget: int, sample: int, final: bool
) -> None:
    """No more than the budget, nobody twice, nothing that is not due; and each order is counted exactly once."""
    settings = msgspec.structs.replace(SETTINGS, sample_size=sample, final_statuses=("done",) if final else ())
    chosen = plan(orders, NOW, limited(settings, budget), seed=1)
    ids = [one.id for one in chosen.due] + list(chosen.sample)
    assert len(ids) == len(set(ids)) == chosen.requests <= budget
    by_id = {one.id: one for one in orders}
    assert all(by_id[id_].presence != "deleted" for id_ in ids)
    ranks = [("not_found", "hot", "warm", "cold").index(one.tier) for one in chosen.due]
    assert ranks == sorted(ranks)
    left_out = sum(chosen.left_out.values())
    assert not left_out or chosen.requests == budget
    gone = sum(one.presence == "deleted" for one in orders)
    asked_by_none = sum(
        one.presence == "present"
        and one.archive_only
        and (
            (final and one.status == "done")
            or one.created_at is None
            or NOW - one.created_at > timedelta(days=settings.cold_max_age_days)
        )
        for one in orders
    )
    assert len(chosen.due) + left_out + chosen.resting + chosen.population + gone + asked_by_none == len(orders)


@hypothesis_settings(deadline=None)
@given(orders=ORDERS, budget=st.integers(0, 70), shuffle=st.randoms())
def test_the_plan_does_not_hang_on_the_order_of_its_input(
    orders: list[KnownOrder], budget: int, shuffle: random.Random
) -> None:
    """The same orders in another sequence give the same due orders."""
    other = list(orders)
    shuffle.shuffle(other)
    assert plan(orders, NOW, limited(NO_SAMPLE, budget)).due == plan(other, NOW, limited(NO_SAMPLE, budget)).due


@hypothesis_settings(deadline=None)
@given(orders=ORDERS, budget=st.integers(0, 30))
def test_a_larger_budget_only_adds(orders: list[KnownOrder], budget: int) -> None:
    """The requests of a small budget are the beginning of those of a larger one."""
    small = plan(orders, NOW, limited(NO_SAMPLE, budget)).due
    assert plan(orders, NOW, limited(NO_SAMPLE, budget + 10)).due[: len(small)] == small
