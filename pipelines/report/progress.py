"""Show the progress of long tasks on a terminal, and nothing in a log."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY = 0.1


@contextmanager
def terminal_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function of (task, done, total) that updates one line of a terminal and writes nothing to a log."""
    stream = getattr(sys.stderr, "terminal", sys.stderr)  # its escape sequences are our own
    if not stream.isatty():
        yield lambda _what, _done, _total: None
        return
    started = time.monotonic()
    last = ("", 0.0)

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if what == last[0] and now - last[1] < _EVERY and done < total:
            return
        if last[0] and what != last[0]:
            stream.write("\n")
        last = (what, now)
        share = f"{done:,} of {total:,}" if total else f"{done:,}"
        stream.write(f"\r\033[K{now - started:6.1f} s  {what}: {share}")
        stream.flush()

    try:
        yield show
    finally:
        if last[0]:
            stream.write("\n")
