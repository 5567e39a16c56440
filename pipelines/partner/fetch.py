"""Fetch many ids concurrently."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.partner.errors import RequestFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from pipelines.partner.answers import Failed, Fetched
    from pipelines.partner.client import PartnerClient
    from pipelines.settings.kinds import Kind


async def fetch_all(client: PartnerClient, kind: Kind, ids: Iterable[int]) -> AsyncGenerator[Fetched | Failed]:
    """Yield one Fetched or Failed for each of `ids`, in the order of completion.

    At most `max_concurrency` ids are taken from `ids`, which may be lazy, before they are answered. Raise RunStopped if
    nothing more can be requested; ids not yet yielded are then unanswered. Leaving early cancels requests in flight:
    use `contextlib.aclosing`.
    """
    waiting = iter(ids)
    done: asyncio.Queue[asyncio.Task[Fetched]] = asyncio.Queue()
    in_flight: set[asyncio.Task[Fetched]] = set()

    def start_next() -> None:
        for id_ in waiting:
            task = asyncio.create_task(client.fetch(kind, id_))
            in_flight.add(task)
            task.add_done_callback(done.put_nowait)
            return

    try:
        for _ in range(client.max_concurrency):
            start_next()
        while in_flight:
            task = await done.get()
            in_flight.discard(task)
            answer: Fetched | Failed
            try:
                answer = task.result()
            except RequestFailed as error:
                answer = error.failed
            start_next()
            yield answer
    finally:
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
