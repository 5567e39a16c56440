"""The service is gone: few requests, an end in time, and no false alarm."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.partner import Clock, Failed, Fetched, PartnerClient, ServiceDown, fetch_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def _refuse(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


async def _reset(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(0.01)
    raise httpx.ReadError("reset")


async def _hang(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(3600)
    raise AssertionError


async def _collect(client: PartnerClient, ids: range) -> list[Fetched | Failed]:
    async with aclosing(fetch_all(client, "orders", ids)) as answers:
        return [answer async for answer in answers]


@pytest.mark.parametrize("down", ["refused", "reset", "hang", "500", "503", "html", "429"])
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("with_token", [True, False])
def test_total_outage(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, *, down: str, warm: bool, with_token: bool
) -> None:
    """Whatever way it is gone, at most 35 requests are sent to it and the run ends in under two minutes."""
    ways: dict[str, Callable[[httpx.Request], Awaitable[httpx.Response]]] = {
        "refused": _refuse,
        "reset": _reset,
        "hang": _hang,
    }
    service = fake()
    working = service.serve

    async def gone(request: httpx.Request) -> httpx.Response:
        if down in ways:
            return await ways[down](request)
        await asyncio.sleep(0.02)
        if down == "html":
            return answer(200, b"<html>", content_type="text/html")
        return answer(int(down))

    async def main(clock: Clock) -> float:
        async with client(partner(), service, clock) as asking:
            if warm:
                await _collect(asking, range(500))
            service.seen.clear()
            service.serve = gone
            if not with_token:
                service._respond = gone
                asking._asking._tokens._token = None
            began = clock.monotonic()
            with pytest.raises(ServiceDown):
                await _collect(asking, range(10_000))
            return clock.monotonic() - began

    seconds = jump(main)
    assert seconds < 120
    if down == "429":
        # It lives and asks for fewer: the pace shrinks, and only two seconds of nothing else are an outage.
        assert len(service.seen) <= 70
    else:
        assert len(service.seen) <= 35
    assert working is not gone


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
    assert {type(found) for found in answers} == {Fetched}
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
        async with client(partner(max_tries=6), service, clock) as asking:
            return await _collect(asking, range(200))

    answers = jump(main)
    failed = {found.id for found in answers if isinstance(found, Failed)}
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
    assert (failed.code, failed.status, failed.tries) == ("server_error", 500, 12)


def test_a_cancelled_probe_leaves_the_way_free(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """When the request that probes is cancelled, the next one probes: nobody waits for ever."""
    service = fake(_refuse)
    working = fake().serve

    async def main(clock: Clock) -> Any:
        async with client(partner(), service, clock) as asking:
            tasks = [asyncio.create_task(asking.order(i)) for i in range(16)]
            await clock.sleep(0.9)
            assert asking._asking._breaker._open
            service.serve = _hang
            await clock.sleep(3)
            assert asking._asking._breaker._probing
            service.serve = working
            for task in tasks[:-1]:
                task.cancel()
            return await tasks[-1]

    assert jump(main).status == 200
