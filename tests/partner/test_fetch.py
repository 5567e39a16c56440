"""Asking for many: once each, as they come, never more at once than allowed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.partner.client import fetch_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from pipelines.partner.pacing import Clock

FATES = st.sampled_from(["fine", "missing", "forbidden", "broken", "flaky"])


@given(fates=st.lists(FATES, max_size=60), most=st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_every_id_has_exactly_one_end(function_fixtures: Any, fates: list[str], most: int) -> None:
    """Whatever becomes of them, each id is yielded once, fetched or failed."""
    jump, partner, fake, client, answer = function_fixtures
    tries: dict[int, int] = {}

    async def serve(request: httpx.Request) -> httpx.Response:
        id_ = int(request.url.path.rsplit("/", 1)[1])
        tries[id_] = tries.get(id_, 0) + 1
        await asyncio.sleep(0.01 * (id_ % 7))
        status = {"fine": 200, "missing": 404, "forbidden": 403, "broken": 500}.get(fates[id_])
        return answer(status or (500 if tries[id_] < 3 else 200), {"id": id_})

    service = fake(serve)

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(max_concurrency=most, max_attempts=4), service, clock) as asking:
            asking._breaker._patience = 1e9
            return [end async for end in fetch_all(asking, "menus", range(len(fates)))]

    ends = {end.id: end for end in jump(main)}
    assert sorted(ends) == list(range(len(fates)))
    assert service.most_at_once <= most + 1
    for id_, fate in enumerate(fates):
        end = ends[id_]
        assert bool(end.code) == (fate in {"forbidden", "broken"})
        assert end.status == {"fine": 200, "missing": 404, "forbidden": 403, "broken": 500, "flaky": 200}[fate]
        assert end.attempts == {"fine": 1, "missing": 1, "forbidden": 1, "broken": 4, "flaky": 3}[fate]


@pytest.fixture(scope="module")
def function_fixtures(request: pytest.FixtureRequest) -> Any:
    """Give the makers to a Hypothesis test: they keep nothing between examples."""
    names = ("jump", "partner", "fake", "client", "answer")
    return [request.getfixturevalue(name) for name in names]


def test_answers_come_as_they_are_ready(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A slow id does not hold up the quick ones."""

    async def serve(request: httpx.Request) -> httpx.Response:
        id_ = int(request.url.path.rsplit("/", 1)[1])
        await asyncio.sleep(10 if id_ == 0 else 0.1)
        return answer(body={"id": id_})

    service = fake(serve)

    async def main(clock: Clock) -> list[int]:
        async with client(partner(max_concurrency=4), service, clock) as asking:
            return [end.id async for end in fetch_all(asking, "orders", range(50))]

    order = jump(main)
    assert order[-1] == 0
    assert sorted(order) == list(range(50))


def test_ids_are_taken_as_needed(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """A lazy, endless iterator of ids is not read further ahead than the requests under way."""
    taken = 0

    def ids() -> Iterator[int]:
        nonlocal taken
        while True:
            yield taken
            taken += 1

    async def main(clock: Clock) -> None:
        async with client(partner(max_concurrency=8), fake(), clock) as asking:
            given_out = 0
            async for end in fetch_all(asking, "orders", ids()):
                assert not end.code
                given_out += 1
                await clock.sleep(1)  # a slow reader
                assert taken <= given_out + 8
                if given_out == 100:
                    break

    jump(main)


def test_no_ids(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """Nothing to ask for sends nothing, not even for a token."""
    service = fake()

    async def main(clock: Clock) -> list[Any]:
        async with client(partner(), service, clock) as asking:
            return [end async for end in fetch_all(asking, "orders", [])]

    assert jump(main) == []
    assert service.seen == []


def test_at_most_max_in_flight(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """However many ids, no more than max_concurrency requests are under way."""
    service = fake()

    async def main(clock: Clock) -> None:
        async with client(partner(max_concurrency=12), service, clock) as asking:
            assert len([end async for end in fetch_all(asking, "orders", range(500))]) == 500

    jump(main)
    assert service.most_at_once == 12


def test_the_figures_of_an_answer(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """Kind, id, status, milliseconds, bytes, tries, time and safe headers come with the answer."""

    async def main(clock: Clock) -> Any:
        async with client(partner(), fake(), clock) as asking:
            return await asking.fetch("orders", 5), clock.now()

    fetched, now = jump(main)
    assert (fetched.kind, fetched.id, fetched.status, fetched.bytes, fetched.attempts) == ("orders", 5, 200, 9, 1)
    assert fetched.ms == pytest.approx(100)
    assert fetched.fetched_at == now
    assert fetched.date == ""
