"""Nights with faults, on a clock that jumps: the figures of a bad night."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.client import fetch_all

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from pipelines.partner.pacing import Clock

    Night = Callable[[int, Callable[[httpx.Request], httpx.Response | None]], tuple[Any, list[Any]]]


@pytest.fixture
def night(jump: Any, partner: Any, fake: Any, client: Any) -> Night:
    """Fetch so many orders of a service of which some answers are replaced; return both it and what was found."""

    def fetch(count: int, fault: Callable[[httpx.Request], httpx.Response | None]) -> tuple[Any, list[Any]]:
        service = fake()
        working = service.serve

        async def serve(request: httpx.Request) -> httpx.Response:
            return fault(request) or await working(request)

        service.serve = serve

        async def main(clock: Clock) -> list[Any]:
            async with client(partner(), service, clock) as asking:
                return [found async for found in fetch_all(asking, "orders", range(count))]

        return service, jump(main)

    return fetch


def _id(request: httpx.Request) -> int:
    return int(request.url.path.rsplit("/", 1)[1])


def _asked(service: Any) -> Counter[int]:
    return Counter(_id(request) for request in service.seen if not request.url.path.endswith("/authenticate"))


@pytest.mark.slow
def test_a_fifth_5xx_and_a_twentieth_429_lose_nothing(night: Night, answer: Any) -> None:
    """With 20% 5xx and 5% 429 over 10,000 ids every id is answered, once, with at most half as many retries."""
    chance = random.Random(11)

    def fault(_: httpx.Request) -> httpx.Response | None:
        lot = chance.random()
        if lot < 0.20:
            return answer(503 if lot < 0.10 else 500)
        return answer(429, retry_after="1") if lot < 0.25 else None

    service, answers = night(10_000, fault)
    assert sorted(found.id for found in answers) == list(range(10_000))
    assert not [found for found in answers if found.code]
    assert service.asked <= 15_100
    assert service.statuses[500] + service.statuses[503] > 2_000


@pytest.mark.slow
def test_one_poison_id_in_ten_thousand(night: Night, answer: Any) -> None:
    """One id that always fails failed with its reason; the other 9,999 come."""
    _, answers = night(10_000, lambda request: answer(500) if request.url.path.endswith("/4711") else None)
    [failed] = [found for found in answers if found.code]
    assert (failed.id, failed.code, failed.status, failed.attempts) == (4711, "server_error", 500, 12)
    assert len({found.id for found in answers if not found.code}) == 9_999


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [pytest.param(0.1, marks=pytest.mark.long), 0.4, 1.0])
def test_the_pace_follows_the_service(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, *, seconds: float
) -> None:
    """At a capacity of 32, then 8, then 32, the pace is within 25% after 30 s, and then under 2% are refused."""
    service = fake()
    capacity = 32
    under_way = 0
    log: list[tuple[float, int, bool]] = []

    async def main(clock: Clock) -> None:
        async def serve(_: httpx.Request) -> httpx.Response:
            nonlocal under_way
            full = under_way >= capacity
            log.append((clock.monotonic(), under_way, full))
            if full:
                await asyncio.sleep(0.002)
                return answer(429)
            under_way += 1
            try:
                await asyncio.sleep(seconds * (0.8 + 0.4 * clock.random()))
            finally:
                under_way -= 1
            return answer(body={"id": 1})

        service.serve = serve

        async def ask() -> None:
            async with (
                client(partner(max_concurrency=64), service, clock) as asking,
                aclosing(fetch_all(asking, "orders", iter(range(10**9)))) as answers,
            ):
                async for _ in answers:
                    pass

        nonlocal capacity
        task = asyncio.create_task(ask())
        for capacity in (32, 8, 32):
            began = clock.monotonic()
            await clock.sleep(30)
            log.clear()
            await clock.sleep(30)
            assert not task.done()
            assert clock.monotonic() - began == pytest.approx(60)
            mean = sum(at_once for _, at_once, _ in log) / len(log)
            refused = sum(full for *_, full in log) / len(log)
            assert 0.75 * capacity <= mean <= 1.25 * capacity, (capacity, mean)
            assert refused < 0.02, (capacity, refused)
        task.cancel()

    jump(main)


def test_retry_after_is_kept_and_capped(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A Retry-After in seconds or as a date is waited for, one of a day only as long as the cap."""
    waits = {"30": (30, 31), "Fri, 20 Nov 2026 03:15:40 GMT": (39, 41), "86400": (60, 61), "soon": (0, 1)}
    for text, (least, most) in waits.items():
        service = fake()
        working = service.serve
        refused = False

        async def serve(request: httpx.Request, text: str = text, working: Any = working) -> httpx.Response:
            nonlocal refused
            if not refused:
                refused = True
                return answer(429, retry_after=text)
            return await working(request)

        service.serve = serve

        async def main(clock: Clock, service: Any = service) -> float:
            async with client(partner(), service, clock) as asking:
                assert (await asking.fetch("orders", 1)).attempts == 2
            return clock.monotonic()

        assert least <= jump(main) <= most, text


@pytest.mark.slow
def test_the_retry_budget_bounds_what_is_asked(night: Night, answer: Any) -> None:
    """When two thirds fail for good, the run asks at most half as much again as it has ids, and a few more."""
    service, answers = night(3_000, lambda request: answer(500) if _id(request) % 3 else None)
    assert {found.id for found in answers if not found.code} == set(range(0, 3_000, 3))
    assert len(answers) == 3_000
    # What answers is asked again only to see, when all seems lost, whether the service is there.
    probes = sum(times - 1 for id_, times in _asked(service).items() if id_ % 3 == 0)
    assert service.asked - probes <= 3_000 * 1.5 + 100
    assert probes <= 3_000 * 0.1
