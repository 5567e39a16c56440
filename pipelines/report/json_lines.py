"""Write a run as one JSON object a line, for log collectors: what it is doing, and what came of it.

Each has `at` (UTC) and `event`: progress, landed, check, note, error, maintenance_failed, alarm_not_sent, ended. Values
are counts, ids, codes and the sentences of the summary; never a text of the partner's.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.record import Run


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
