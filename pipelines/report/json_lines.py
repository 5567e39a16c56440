"""Write a run as one JSON object a line, for log collectors: what it is doing, and what came of it.

Each has `at` (UTC) and `event`: progress, landed, check, note, error, maintenance_failed, alarm_not_sent, ended. Values
are counts, ids, codes and the sentences of the summary; never a text of the partner's.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now
from pipelines.report.summary import current_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.report.summary import Night
    from pipelines.settings import Settings


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


def night_lines(settings: Settings, night: Night, exit_code: int) -> Iterator[str]:
    """Yield the lines of a finished run; the last one is `ended`, with the exit code."""
    for kind, verdicts in night.landed.items():
        yield line("landed", kind=kind, verdicts=dict(verdicts))
    for table, check, violations in night.failing:
        yield line("check", table=table, check=check, violations=violations)
    for text in night.said:
        yield line("note", text=text)
    for kind, sentences in night.incomplete.items():
        yield from (line("incomplete", kind=kind, text=text) for text in sentences)
    for text in night.errors:
        yield line("error", text=text)
    for text in night.undone:
        yield line("maintenance_failed", text=text)
    release = current_release(settings)
    yield line(
        "ended",
        exit_code=exit_code,
        run_id=night.run_id,
        is_good=night.published and not night.incomplete,
        is_new_release=night.published and night.is_new,
        release=release.name if release else None,
        checks=night.checks,
    )
