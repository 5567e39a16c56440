"""The service is gone: few requests, an end in time, and no false alarm."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import Fetched, RunTooLong, ServiceDown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from pipelines.partner.pacing import Clock


async def _refuse(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


async def _reset(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(0.01)
    raise httpx.ReadError("reset")


async def _hang(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(3600)
    raise AssertionError


class _Body(httpx.AsyncByteStream):
    """A body that never comes whole: it is cut, or comes a byte a second."""

    def __init__(self, *, cut: bool) -> None:
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            if self._cut:
                raise httpx.ReadError("cut")
            await asyncio.sleep(1)


async def _body(*, cut: bool) -> httpx.Response:
    await asyncio.sleep(0.02)
    headers = {"content-type": "application/json", "content-length": "900"}
    return httpx.Response(200, headers=headers, stream=_Body(cut=cut))


WAYS: dict[str, Callable[[httpx.Request], Awaitable[httpx.Response]]] = {
    "refused": _refuse,
    "reset": _reset,
    "hang": _hang,
    "truncated": lambda _: _body(cut=True),
    "drip": lambda _: _body(cut=False),
}
ANSWERS: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "500": (500, b"{}", {}),
    "503": (503, b"{}", {}),
    "429": (429, b"{}", {}),
    "429 for a minute": (429, b"{}", {"retry_after": "60"}),
    "html": (200, b"<html>", {"content_type": "text/html"}),
    "a page": (200, b"<html>", {"content_length": "6"}),
}
DOWN = [*WAYS, *ANSWERS, "all of them"]


def _gone(down: str, answer: Any) -> Callable[[httpx.Request], Awaitable[httpx.Response]]:
    """Answer in the way a service is gone; in each of them by turns, drawn by a seed."""
    chance = random.Random(5)

    async def gone(request: httpx.Request) -> httpx.Response:
        way = chance.choice(DOWN[:-1]) if down == DOWN[-1] else down
        if way in WAYS:
            return await WAYS[way](request)
        await asyncio.sleep(0.02)
        status, body, headers = ANSWERS[way]
        response: httpx.Response = answer(status, body, **headers)
        return response

    return gone


async def _collect(client: PartnerClient, ids: range) -> list[Fetched]:
    async with aclosing(fetch_all(client, "orders", ids)) as answers:
        return [answer async for answer in answers]


@pytest.mark.slow
@pytest.mark.parametrize("down", DOWN)
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("with_token", [True, False])
def test_total_outage(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, *, down: str, warm: bool, with_token: bool
) -> None:
    """Whatever way it is gone, at most 35 requests are sent to it and the run ends in under two minutes.

    A page instead of documents may mean an expired token: each request under way may be sent once more.
    """
    service = fake()
    gone = _gone(down, answer)

    async def main(clock: Clock) -> float:
        async with client(partner(), service, clock) as asking:
            if warm:
                await _collect(asking, range(500))
            service.seen.clear()
            service.serve = gone
            if not with_token:
                service._respond = gone
                asking._tokens._token = None
            began = clock.monotonic()
            with pytest.raises(ServiceDown):
                await _collect(asking, range(10_000))
            return clock.monotonic() - began

    assert jump(main) < 120
    assert len(service.seen) <= (64 if down == "html" else 35)


@pytest.mark.slow
@pytest.mark.parametrize("down", DOWN)
@pytest.mark.parametrize("in_flight", [pytest.param(4, marks=pytest.mark.long), 32])
@pytest.mark.parametrize("finishes", [True, False])
def test_an_outage_in_mid_run(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, *, down: str, in_flight: int, finishes: bool
) -> None:
    """Gone with 32 requests under way, finished or not, it sees at most 35 from then on, those that fail among them."""
    service = fake()
    gone = _gone(down, answer)
    is_deleted, under_way, after = False, 0, 0

    async def serve(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, after
        under_way += 1
        try:
            for _ in range(30):
                if is_deleted and (_ == 0 or not finishes):
                    after += 1
                    return await gone(request)
                await asyncio.sleep(0.01)
        finally:
            under_way -= 1
        return answer(body={"id": 1})

    service.serve = serve

    async def main(clock: Clock) -> float:
        nonlocal is_deleted
        async with client(partner(max_concurrency=in_flight), service, clock) as asking:
            run = asyncio.create_task(_collect(asking, range(10_000)))
            await clock.sleep(8)
            assert under_way == in_flight
            is_deleted = True
            began = clock.monotonic()
            with pytest.raises(ServiceDown):
                await run
            return clock.monotonic() - began

    assert jump(main) < 120
    assert after <= (64 if down == "html" else 35)


def test_the_service_shrinks_its_limit_and_lives(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A service that refuses everything for 50 seconds of each minute is asked little then, and everything comes."""
    service = fake()
    working = service.serve
    refused = 0

    async def main(clock: Clock) -> list[Any]:
        async def limited(request: httpx.Request) -> httpx.Response:
            nonlocal refused
            if clock.monotonic() % 60 >= 10:
                refused += 1
                return answer(429)
            return await working(request)

        service.serve = limited
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(3_000))

    answers = jump(main)
    assert {found.code for found in answers} == {""}
    assert len(answers) == 3_000
    assert refused <= 35 * 3


def test_who_waits_alone_is_told_that_nothing_answers(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any
) -> None:
    """Told a minute by minute to come again, a run of one id ends in time; not so while another id is answered."""
    service = fake()
    working = service.serve

    async def serve(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/7"):
            return answer(503, retry_after="60")
        return await working(request)

    service.serve = serve

    async def alone(clock: Clock) -> float:
        async with client(partner(), service, clock) as asking:
            with pytest.raises(ServiceDown, match="no request was answered lately"):
                await asking.fetch("orders", 7)
        return clock.monotonic()

    async def beside_another(clock: Clock) -> list[Any]:
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(20))

    assert jump(alone) < 120
    answers = jump(beside_another)
    assert [found.id for found in answers if found.code] == [7]
    assert len(answers) == 20


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_service_that_limits_some_requests_for_a_minute_is_no_outage(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, share: float
) -> None:
    """With a share of requests answered by 429 and Retry-After, drawn by chance, all ids are answered in the end.

    With half of them the retries of a run do not suffice for all; the rest is not called an outage.
    """
    service = fake()
    working = service.serve
    chance = random.Random(3)

    async def serve(request: httpx.Request) -> httpx.Response:
        if chance.random() < share:
            return answer(429, retry_after="60")
        return await working(request)

    service.serve = serve

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(2_000))

    answers = jump(main)
    failed = [found.code for found in answers if found.code]
    assert len(answers) == 2_000
    assert (failed == []) if share < 0.5 else (set(failed) == {"rate_limited"} and len(failed) < 600)


def test_an_answer_of_a_moment_ago_outweighs_a_limit(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any
) -> None:
    """A wait of a minute exceeds what an outage has left, but half a minute ago all was well: it is waited for."""
    service = fake()
    working = service.serve

    async def main(clock: Clock) -> list[Any]:
        refused = 0

        async def limited(request: httpx.Request) -> httpx.Response:
            nonlocal refused
            if not 20 <= clock.monotonic() < 84:
                return await working(request)
            refused += 1
            await clock.sleep(29 if refused == 2 else 0.1)
            return answer(429, retry_after="60")

        service.serve = limited
        async with client(partner(max_concurrency=2, outage_timeout_seconds=80), service, clock) as asking:
            return await _collect(asking, range(500))

    assert {found.code for found in jump(main)} == {""}


@pytest.mark.parametrize(("most", "fetched"), [(600.0, 16 * 21), (0.0, 1_000)])
def test_a_run_requests_nothing_after_its_time(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, most: float, fetched: int
) -> None:
    """A service that takes 29 seconds for each answer is requested for ten minutes, or without a limit for all ids."""

    async def serve(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(29)
        response: httpx.Response = answer(body={"id": 1})
        return response

    service = fake(serve)

    async def main(clock: Clock) -> tuple[int, float]:
        found = 0
        settings = partner(max_concurrency=16, max_run_seconds=most)
        async with (
            client(settings, service, clock) as asking,
            aclosing(fetch_all(asking, "orders", range(1_000))) as all_,
        ):
            asking._limit.limit = 16
            with suppress(RunTooLong):
                async for _ in all_:
                    found += 1
        return found, clock.monotonic()

    found, seconds = jump(main)
    assert found == fetched
    assert not most or seconds < most + 30


def test_menus_leave_most_of_a_run_to_orders(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """Of ten minutes slow menus get a quarter, however many there are, and orders all that is left."""

    async def serve(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(29)
        response: httpx.Response = answer(body={"id": 1})
        return response

    service = fake(serve)

    async def main(clock: Clock) -> list[float]:
        ended = []
        async with client(partner(max_concurrency=16, max_run_seconds=600.0), service, clock) as asking:
            for kind in ("menus", "orders"):
                with suppress(RunTooLong):
                    async with aclosing(fetch_all(asking, kind, range(1_000))) as all_:
                        async for _ in all_:
                            pass
                ended.append(clock.monotonic())
        return ended

    menus, orders = jump(main)
    assert 150 <= menus < 180
    assert 600 <= orders < 630


def test_a_page_for_everybody_is_no_document(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """The same page under JSON's name for many ids reaches no gate; a document broken for good does, all the same."""
    service = fake()
    working = service.serve

    async def serve(request: httpx.Request) -> httpx.Response:
        id_ = int(request.url.path.rsplit("/", 1)[1])
        if id_ in {3, 4, 5}:
            return answer(200, b"<html>sorry", content_length="11")
        return (
            answer(200, b'{"id": %d, "tip": NaN}' % id_, content_length="21")
            if id_ in {8, 9}
            else await working(request)
        )

    service.serve = serve

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(40))

    answers = jump(main)
    assert {(found.id, found.code) for found in answers if found.code} <= {(id_, "not_json") for id_ in (3, 4, 5)}
    assert {found.id for found in answers if not found.code and b"NaN" in found.body} == {8, 9}
    assert not [found for found in answers if not found.code and b"html" in found.body]


def test_a_pause_in_service_costs_no_id(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A restart of 40 seconds in the middle is waited for: every id is answered."""
    service = fake()
    working = service.serve

    async def main(clock: Clock) -> tuple[list[Any], int]:
        missed = 0

        async def restarting(request: httpx.Request) -> httpx.Response:
            nonlocal missed
            if 5 <= clock.monotonic() < 45:
                missed += 1
                return answer(503)
            return await working(request)

        service.serve = restarting
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(2_000)), missed

    answers, missed = jump(main)
    assert sorted(found.id for found in answers) == list(range(2_000))
    assert {found.code for found in answers} == {""}
    assert missed <= 35


def test_poison_ids_at_the_end_are_no_outage(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """Ids that always fail fail alone, even when nothing else is left: one known good request tells."""
    service = fake()
    working = service.serve

    async def serve(request: httpx.Request) -> httpx.Response:
        if int(request.url.path.rsplit("/", 1)[1]) >= 180:
            await asyncio.sleep(0.1)
            return answer(500)
        return await working(request)

    service.serve = serve

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(max_attempts=6), service, clock) as asking:
            return await _collect(asking, range(200))

    answers = jump(main)
    failed = {found.id for found in answers if found.code}
    assert failed == set(range(180, 200))
    assert len(answers) == 200


def test_one_failing_id_alone_is_no_outage(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A run of one id that fails ends as that id's failure, after its tries."""

    async def serve(_: httpx.Request) -> httpx.Response:
        return answer(500)

    service = fake(serve)

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(), service, clock) as asking:
            return await _collect(asking, range(1))

    [failed] = jump(main)
    assert (failed.code, failed.status, failed.attempts) == ("server_error", 500, 12)


def test_a_cancelled_probe_leaves_the_way_free(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """When the request that probes is cancelled, the next one probes: nobody waits for ever."""
    service = fake(_refuse)
    working = fake().serve

    async def main(clock: Clock) -> Any:
        async with client(partner(), service, clock) as asking:
            tasks = [asyncio.create_task(asking.fetch("orders", i)) for i in range(16)]
            await clock.sleep(0.9)
            assert asking._breaker.is_open
            service.serve = _hang
            await clock.sleep(3)
            assert asking._breaker._probing
            service.serve = working
            for task in tasks[:-1]:
                task.cancel()
            return await tasks[-1]

    assert jump(main).status == 200


def test_who_waits_all_night_is_not_asked_seldom(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """With patience for a day, a service that comes back after an hour is found within a minute."""
    service = fake()
    working = service.serve

    async def serve(request: httpx.Request) -> httpx.Response:
        return answer(503) if service.is_down else await working(request)

    service.serve, service.is_down = serve, True

    async def main(clock: Clock) -> float:
        async with client(
            partner(outage_timeout_seconds=86_400, max_concurrency=32, max_attempts=1_000), service, clock
        ) as asking:
            run = asyncio.create_task(_collect(asking, range(100)))
            await clock.sleep(3_600)
            service.is_down = False
            assert {found.code for found in await run} == {""}
        return clock.monotonic() - 3_600

    assert jump(main) < 90
