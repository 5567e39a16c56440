"""The shared parts of a run: one client, so one token, one circuit breaker, one retry budget; event loop and end.

It ends in order on SIGTERM or SIGINT: received documents are committed, a build is rolled back. A library may replace
the handlers of the process while the run goes on. Which signal came is known all the same: it is also written into a
pipe, whichever function handles it.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from typing import Any, TypeVar

from pipelines.ingest.outcome import Ingested
from pipelines.landing.shape import SHAPES
from pipelines.partner.client import PartnerClient
from pipelines.partner.pointer import parse
from pipelines.record import SHELL
from pipelines.settings import Settings

Handler = Callable[[int, Any], None]


SIGNALS = (signal.SIGTERM, signal.SIGINT)
_current: "StopSignal | None" = None


class StopSignal:
    """Which signal came to this run, if any."""

    def __init__(self, pipe: int | None = None) -> None:
        self._pipe = pipe
        self._signal: signal.Signals | None = None

    @property
    def signal(self) -> signal.Signals | None:
        """The first signal that came; None if none did."""
        if self._signal is None and self._pipe is not None:
            try:
                came = os.read(self._pipe, 4096)
            except BlockingIOError:
                came = b""
            self._signal = next((number for number in SIGNALS if number in came), None)
        return self._signal

    @property
    def exit_code(self) -> int:
        """The exit code that a shell gives a process ended by this signal."""
        return SHELL + (self.signal or signal.SIGINT)

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end` at a signal, instead of raising an exception at whatever line the block is; a second one kills.

        Raise KeyboardInterrupt at once if a signal came before, and after the block if `end` could not end it.
        """
        if self.signal is not None:
            raise KeyboardInterrupt

        def handle(number: int, _frame: Any) -> None:
            if self._signal is not None:
                os._exit(SHELL + number)
            self._signal = signal.Signals(number)
            end()

        with _handled_by(handle):
            yield
        if self.signal is not None:
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[StopSignal]:
    """Raise KeyboardInterrupt in the block at SIGTERM and SIGINT, unless the code under way ends itself in order."""
    global _current  # noqa: PLW0603 -- signals are the whole process's
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    _current = stop = StopSignal(reading)
    try:
        with _handled_by(signal.default_int_handler):
            before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
            try:
                yield stop
            finally:
                signal.set_wakeup_fd(before)
    finally:
        _ = stop.signal  # while the pipe can still be read
        _current = stop._pipe = None  # noqa: SLF001 -- its own module
        os.close(reading)
        os.close(writing)


def current_stop() -> StopSignal:
    """Return the stop of this process's run; outside of `stoppable` nothing does."""
    return _current or StopSignal()


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Handle both signals by `handler`; only the main thread can, and in another this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


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


class PartnerSession(AbstractContextManager["PartnerSession"]):
    """A connection to the service for one run, from its first `run` on; `ingested`: what became of each kind so far."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._client: PartnerClient | None = None
        self.ingested: list[Ingested] = []

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._runner.run(self._open.aclose())
        self._runner.close()

    def run(self, work: Callable[[PartnerClient], Coroutine[None, None, T]]) -> T:
        """Run `work` with the client; a signal cancels it at its next wait, and raises KeyboardInterrupt here."""
        try:
            return self._runner.run(self._work(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            # end what an exception left behind that a foreign signal handler raised in the loop itself
            loop = self._runner.get_loop()
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _work(self, work: Callable[[PartnerClient], Coroutine[None, None, T]]) -> T:
        if self._client is None:
            settings = self._settings
            fields = documented_fields(settings)
            client = PartnerClient(settings.partner, max_bytes=settings.landing.max_bytes, fields=fields)
            self._client = await self._open.enter_async_context(client)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 -- this is one
        with current_stop().ended_by(lambda: loop.call_soon_threadsafe(task.cancel)):
            return await work(self._client)
