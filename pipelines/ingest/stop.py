"""End a run in order on SIGTERM or SIGINT: received documents are committed, a build is rolled back.

A library may replace the handlers of the process while the run goes on. Which signal came is known all the same: it is
also written into a pipe, whichever function handles it.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Handler = Callable[[int, Any], None]

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SHELL = 128  # a shell's exit code for a process ended by a signal is this and its number
_current: Stop | None = None


class Stop:
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
def stoppable() -> Iterator[Stop]:
    """Raise KeyboardInterrupt in the block at SIGTERM and SIGINT, unless the code under way ends itself in order."""
    global _current  # noqa: PLW0603 -- signals are the whole process's
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    _current = stop = Stop(reading)
    try:
        with _handled_by(_interrupt):
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


def current_stop() -> Stop:
    """Return the stop of this process's run; outside of `stoppable` nothing does."""
    return _current or Stop()


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


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
