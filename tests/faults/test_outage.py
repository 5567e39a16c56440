"""A service that is gone, or that cannot answer one order: few requests, the right end, the last release stands."""

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
def test_an_outage_of_orders_is_asked_little(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """While every order fails, a pull of hundreds asks for few of them and ends; what was not answered stays due."""
    place = serve(orders=300, stores=2, days=3, trouble={"only": ["orders"], **rates})
    place.set(outage_timeout_seconds=4, timeout_seconds=2)
    place.ask(place.ids)
    with pytest.raises(ServiceDown):
        place.pull()
    assert sum(place.tries().values()) <= MOST_REQUESTS
    place.sandbox.set_faults()
    assert place.pull().counts["accepted"] == 300


@pytest.mark.parametrize("rates", [{"rate_429": 1}, pytest.param(ALL_OF_THEM, marks=pytest.mark.slow)])
def test_an_outage_in_mid_run_is_asked_little(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """When orders begin to fail while 32 are under way, at most 35 are asked for from then on; the rest stays due."""
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
        place.sandbox.forget()
        with pytest.raises(ServiceDown):
            pulling.result()
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS
    landed = len(place.verdicts())
    assert 0 < landed < 2_500
    assert place.dead_letters() == []


def test_a_service_without_a_token_is_asked_little(serve: Callable[..., Place]) -> None:
    """When not even a token is given, the run ends after a few tries of that."""
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
    place.sandbox.forget()
    return place


def fails(place: Place, **trouble: Any) -> float:
    """Run the job on a service with this trouble, see it fail and the release stand; return the seconds it took."""
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
    """A night without service ends with 1 and the last release; one with a poison order with 3 and all the others."""
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


@pytest.mark.slow
def test_an_outage_by_the_defaults(serve: Callable[..., Place]) -> None:
    """With the settings as they come the run ends in under two minutes."""
    place = published(serve)
    assert fails(place, rate_503=1) < 120
    answers = place.sandbox.served()["answers"]
    assert sum(count for end, count in answers.items() if not end.endswith(" 200")) <= MOST_REQUESTS
