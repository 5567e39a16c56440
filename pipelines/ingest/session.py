"""The shared parts of a run: one client, so one token, one circuit breaker, one retry budget, and its event loop."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self, TypeVar

from pipelines.ingest.stop import current_stop
from pipelines.landing.shape import SHAPES
from pipelines.partner import PartnerClient
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pipelines.ingest.outcome import Ingested
    from pipelines.settings import Settings

T = TypeVar("T")


def documented_fields(settings: Settings) -> dict[str, frozenset[str]]:
    """Return the names at the top of each kind of document; of stores those that settings point to."""
    store = settings.partner.store
    names = frozenset(parse(store.record_pointer)[:1])
    pointers = (store.id_pointer, store.name_pointer, store.timezone_pointer, store.currency_pointer)
    parsed = (parse(pointer) for pointer in (*pointers, *store.menu_id_pointers, *store.allowed_pointers))
    return {
        **{kind: shape.names for kind, shape in SHAPES.items()},
        "stores": names or frozenset(tokens[0] for tokens in parsed if tokens),
    }


class PartnerSession:
    """A connection to the partner service for one run; a context manager. Nothing is sent before the first `run`.

    `ingested` has what became of each kind so far.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._client: PartnerClient | None = None
        self.ingested: list[Ingested] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._runner.run(self._open.aclose())
        self._runner.close()

    def run(self, work: Callable[[PartnerClient], Coroutine[None, None, T]]) -> T:
        """Run `work` with the client and return its result.

        When the run is stopped by a signal, `work` is cancelled at its next wait, and this raises KeyboardInterrupt.
        """
        try:
            return self._runner.run(self._work(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            self._cancel_tasks()

    def _cancel_tasks(self) -> None:
        """End what an exception left behind that a foreign signal handler raised in the loop itself."""
        loop = self._runner.get_loop()
        if tasks := asyncio.all_tasks(loop):
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _work(self, work: Callable[[PartnerClient], Coroutine[None, None, T]]) -> T:
        if self._client is None:
            settings = self._settings
            client = PartnerClient(
                settings.partner, max_bytes=settings.landing.max_bytes, fields=documented_fields(settings)
            )
            self._client = await self._open.enter_async_context(client)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 -- this is one
        with current_stop().ended_by(lambda: loop.call_soon_threadsafe(task.cancel)):
            return await work(self._client)
