"""Show what a run does: one line of a terminal, or one JSON object a line for log collectors.

An object has `at` (UTC) and `event`: progress, landed, check, note, settings, error, maintenance_failed,
alarm_not_sent, ended. Values are counts, ids, codes and the sentences of the summary; never a text of the partner's.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.record import Run


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


def line(event: str, **values: Any) -> str:
    """Return one line."""
    at = utc_now().isoformat(timespec="milliseconds")
    return json.dumps({"at": at, "event": event, **values}, ensure_ascii=False)


@contextlib.contextmanager
def json_progress(write: Callable[[str], None]) -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback for progress that writes a line when something begins and when it is done."""
    last: tuple[str, bool] | None = None

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        if (what, done >= total) != last:
            last = (what, done >= total)
            write(line("progress", what=what, done=done, total=total))

    yield show


def run_lines(run: Run, exit_code: int) -> Iterator[str]:
    """Yield the lines of a finished run; the last one is `ended`, with the exit code."""
    for kind, verdicts in run.landed.items():
        yield line("landed", kind=kind, verdicts=dict(verdicts))
    for table, check, violations in run.failing:
        yield line("check", table=table, check=check, violations=violations)
    for text in run.said:
        yield line("note", text=text)
    for kind, sentences in run.incomplete.items():
        yield from (line("incomplete", kind=kind, text=text) for text in sentences)
    yield from (line("settings", text=text) for text in run.doubts)
    for text in run.errors:
        yield line("error", text=text)
    for text in run.undone:
        yield line("maintenance_failed", text=text)
    yield line(
        "ended",
        exit_code=exit_code,
        run_id=run.id,
        kind=run.kind,
        is_good=run.verdict == "good",
        is_new_release=run.is_published and run.is_new,
        release=run.release or None,
        checks=run.checks,
    )
