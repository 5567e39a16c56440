"""A service that is down, or cannot answer one order: few requests, the right exit code, the release is kept."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner import RunStopped, ServiceDown

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

MOST_REQUESTS = 35


MISHAPS = ("429", "500", "503", "reset", "truncated", "content_type", "slow", "drip")
ALL_OF_THEM = {**{f"rate_{mishap}": 0.125 for mishap in MISHAPS}, "slow_seconds": 60}


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates",
    [
        {"rate_503": 1},
        {"rate_429": 1},
        {"rate_429": 1, "retry_after": 2},
        {"rate_reset": 1},
        {"rate_reset": 0.5, "rate_500": 0.5},
        {"rate_429": 0.5, "rate_truncated": 0.25, "rate_content_type": 0.25},
        ALL_OF_THEM,
    ],
)
def test_outage_of_orders_limits_requests(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """While every order fails, ingesting hundreds requests few of them and ends; unanswered ids stay due."""
    place = serve(orders=300, stores=2, days=3, trouble={"only": ["orders"], **rates})
    place.set(outage_timeout_seconds=4, timeout_seconds=2)
    place.ask(place.ids)
    with pytest.raises(ServiceDown):
        place.pull()
    assert sum(place.tries().values()) <= MOST_REQUESTS
    place.sandbox.set_faults()
    assert place.pull().counts["accepted"] == 300


@pytest.mark.slow
@pytest.mark.parametrize("rates", [{"rate_429": 1}, pytest.param(ALL_OF_THEM, marks=pytest.mark.long)])
def test_outage_in_mid_run_limits_requests(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """When orders begin to fail with 32 in flight, at most 35 are requested from then on; the rest stays due."""
    place = serve(orders=2_500, stores=2, days=3, trouble={"latency_seconds": 0.4})
    place.set(outage_timeout_seconds=4, timeout_seconds=2, max_concurrency=32)
    place.ask(place.ids)
    with ThreadPoolExecutor(1) as pool:
        pulling = pool.submit(place.pull)
        deadline = time.monotonic() + 30
        while place.sandbox.served()["in_flight"] < 32:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        place.sandbox.set_faults(only=["orders"], **rates)
        place.sandbox.clear_record()
        with pytest.raises(ServiceDown):
            pulling.result()
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS
    landed = len(place.verdicts())
    assert 0 < landed < 2_500
    assert place.dead_letters() == []


@pytest.mark.slow
@pytest.mark.sample
def test_outage_of_authentication_limits_requests(serve: Callable[..., Place]) -> None:
    """If no token is issued, the run ends after a few attempts."""
    place = serve(orders=300, stores=2, days=3, trouble={"rate_500": 1})
    place.set(outage_timeout_seconds=4)
    with pytest.raises(RunStopped):
        place.pull("stores")
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS


def published(serve: Callable[..., Place]) -> Place:
    """Return a place with a release of fifty orders, and the rest on the work list."""
    place = serve(orders=90, stores=2, days=3)
    place.ask(place.ids[:50])
    code, said = place.command("run")
    assert code == 0, said
    place.ask(place.ids)
    place.sandbox.clear_record()
    return place


def fails(place: Place, **trouble: Any) -> float:
    """Run the job on a service with these faults, check that it fails and keeps the release; return the seconds."""
    before = (place.data / "published" / "current").resolve()
    place.sandbox.set_faults(**trouble)
    began = time.monotonic()
    code, said = place.command("run")
    assert code == 1, said
    assert "the previous release stays current" in said
    assert "Traceback" not in said
    assert (place.data / "published" / "current").resolve() == before
    assert len(place.all("select order_id from core.orders")) == 50
    return time.monotonic() - began


@pytest.mark.slow
def test_a_bad_week(serve: Callable[..., Place]) -> None:
    """A run without service ends with 1 and keeps the release; with a poison order it ends with 3."""
    place = published(serve)
    place.set(outage_timeout_seconds=4, timeout_seconds=2, max_attempts=3)
    fails(place, rate_503=1)
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS
    bad = place.ids[70]
    place.sandbox.set_faults(poison=[bad])
    code, said = place.command("run")
    assert code == 3, said
    assert {row[0] for row in place.all("select order_id from core.orders")} == set(place.ids) - {bad}
    assert [letter.id for letter in place.dead_letters()] == [bad]
    listed = place.all("select kind, entity_id, reason from audit.quarantine where is_unresolved")
    assert listed == [("orders", bad, "server_error")]


@pytest.mark.long
def test_an_outage_by_the_defaults(serve: Callable[..., Place]) -> None:
    """With the default settings the run ends in under two minutes."""
    place = published(serve)
    assert fails(place, rate_503=1) < 120
    answers = place.sandbox.served()["answers"]
    assert sum(count for end, count in answers.items() if not end.endswith(" 200")) <= MOST_REQUESTS
