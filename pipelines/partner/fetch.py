"""Ask for many ids at once: each gives one Fetched or one Failed, as they come.

Knows nothing of where the ids come from or where the answers go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.partner.errors import RequestFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from pipelines.partner.answers import Failed, Fetched, Kind
    from pipelines.partner.client import PartnerClient


async def fetch_all(client: PartnerClient, kind: Kind, ids: Iterable[int]) -> AsyncGenerator[Fetched | Failed]:
    """Yield a Fetched or a Failed for each of `ids`, once, in the order of completion.

    At most `max_concurrency` ids are taken from `ids`, which may be lazy, before they are answered.
    Raises RunStopped where nothing more can be asked; ids not yet yielded are then unanswered.
    Leaving early cancels what is under way: use `contextlib.aclosing` for it.
    """
    waiting = iter(ids)
    done: asyncio.Queue[asyncio.Task[Fetched | Failed]] = asyncio.Queue()
    under_way: set[asyncio.Task[Fetched | Failed]] = set()

    def start_next() -> None:
        for id_ in waiting:
            task = asyncio.create_task(_answer(client, kind, id_))
            under_way.add(task)
            task.add_done_callback(done.put_nowait)
            return

    try:
        for _ in range(client.max_concurrency):
            start_next()
        while under_way:
            task = await done.get()
            under_way.discard(task)
            answer = task.result()
            start_next()
            yield answer
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _answer(client: PartnerClient, kind: Kind, id_: int) -> Fetched | Failed:
    try:
        return await client.fetch(kind, id_)
    except RequestFailed as error:
        return error.failed
