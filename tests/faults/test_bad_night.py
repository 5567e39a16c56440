"""A service that fails now and then: what could be fetched was fetched, what could not is listed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

BAD = {"rate_500": 0.1, "rate_503": 0.1, "rate_429": 0.05}


def ends(place: Place) -> Counter[str]:
    """Return how often each id's last verdict came."""
    return Counter(verdicts[-1] for verdicts in place.verdicts().values())


@pytest.mark.slow
@pytest.mark.parametrize("orders", [400, pytest.param(3_000, marks=pytest.mark.long)])
def test_every_good_id_lands(serve: Callable[..., Place], orders: int) -> None:
    """With 20% of 5xx and 5% of 429 every order is landed, once."""
    place = serve(orders=orders, stores=4, days=5, trouble=BAD)
    place.ask(place.ids)
    assert place.pull().counts["accepted"] == orders
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    assert place.dead_letters() == []
    mishaps = place.sandbox.served()["mishaps"]
    assert len(mishaps["500"]) + len(mishaps["503"]) > 0.15 * orders
    assert len(mishaps["429"]) > 0.02 * orders


@pytest.mark.slow
def test_every_way_to_fail_is_survived(serve: Callable[..., Place]) -> None:
    """Resets, truncated bodies, wrong content types and slow answers among the others cost no order."""
    rates = dict.fromkeys(("rate_reset", "rate_truncated", "rate_content_type", "rate_slow", "rate_500"), 0.06)
    place = serve(orders=300, stores=4, days=5, trouble={**rates, "slow_seconds": 0.2})
    place.ask(place.ids)
    place.pull()
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    mishaps = place.sandbox.served()["mishaps"]
    assert {"reset", "truncated", "content_type", "slow", "500"} <= mishaps.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "poison",
    ["429", "drip", *(pytest.param(p, marks=pytest.mark.long) for p in "500 503 reset truncated content_type".split())],
)
def test_a_poison_id_fails_alone(serve: Callable[..., Place], poison: str) -> None:
    """An order that is never answered well fails alone and is asked for again later; all others land."""
    place = serve(orders=150, stores=4, days=5)
    bad, *good = place.ids[70:] + place.ids[:70]
    place.sandbox.set_faults(poison=[bad], poison_with=poison)
    place.set(max_attempts=4, timeout_seconds=2)
    place.ask(place.ids)
    pulled = place.pull()
    assert place.verdicts() == {**{id_: ["accepted"] for id_ in good}, bad: ["failed"]}
    assert (place.failing(), place.dead_letters()) == ([bad], [])
    assert [refusal.id for refusal in pulled.refused] == [bad]
    assert 1 <= place.tries()[bad] <= 8


@pytest.mark.slow
def test_a_token_that_is_refused_to_all_is_renewed_once(serve: Callable[..., Place]) -> None:
    """When 64 requests in flight are rejected together, one authenticate call serves them all."""
    place = serve(orders=900, stores=4, days=5, trouble={"latency_seconds": 0.5, "revoke_at_in_flight": 64})
    place.set(max_concurrency=64)
    place.ask(place.ids)
    assert place.pull().counts["accepted"] == 900
    answers = place.sandbox.served()["answers"]
    assert answers["orders 401"] >= 64
    assert answers["authenticate 200"] == 2


@pytest.mark.slow
def test_tokens_that_live_a_second_are_renewed_in_time(serve: Callable[..., Place]) -> None:
    """With a short life tokens are renewed before they end: hardly a request is refused."""
    place = serve(orders=300, stores=4, days=5, trouble={"token_life_seconds": 2, "latency_seconds": 0.2})
    place.ask(place.ids)
    assert place.pull().counts["accepted"] == 300
    answers = place.sandbox.served()["answers"]
    assert answers["authenticate 200"] >= 2
    assert answers.get("orders 401", 0) <= 32
