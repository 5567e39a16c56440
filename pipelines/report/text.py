"""Format text for an 80-column terminal without colours: exact amounts, times, names; and show what a run does.

That is one line of a terminal, or one JSON object a line for log collectors, which has `at` (UTC) and `event`:
progress, landed, check, note, settings, error, maintenance_failed, alarm_not_sent, ended. Values are counts, ids, codes
and the sentences of the summary; never a text of the partner's.
"""

import contextlib
import datetime as dt
import errno
import json
import sqlite3
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.clock import utc_now
from pipelines.record import Run

COLUMNS = 80
_SIGNS_A_COLUMN = 8
_LONGEST = 10_000  # characters of a paragraph
_NO_SUCH_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOSPC, errno.ENAMETOOLONG}
_ONE_USER = "The data folder belongs to one user: `ordermart doctor` names files of others"


def moment(at: dt.datetime | None) -> str:
    """Return an instant in UTC, to the second; null is the unknown time of an archive."""
    return "at an unknown time" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}Z"


def width(text: str) -> int:
    """Return how many columns a text takes: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def fitted(text: str, columns: int) -> str:
    """Return a text of exactly this many columns: padded, or cut and marked."""
    if len(text) > columns * _SIGNS_A_COLUMN:  # accents upon accents take no column
        text = text[: columns * _SIGNS_A_COLUMN] + "…"
    taken = 0
    for at, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            cut = text[:at]
            while width(cut) > columns - 1:
                cut = cut[:-1]
            return fitted(cut + "…", columns)
    return text + " " * (columns - taken)


def wrapped(text: str, indent: int = 2, hanging: int = 2) -> Iterator[str]:
    """Yield a paragraph's lines, hanging; long words are broken, many pages cut: breaking them would take minutes."""
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "… (cut)"
    first, rest = " " * indent, " " * (indent + hanging)
    yield from textwrap.wrap(shown, COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def counted(number: int, one: str, many: str) -> str:
    """Return a number and its noun."""
    return f"{number:,} {one if number == 1 else many}"


def sentence_of(error: BaseException) -> str | None:
    """Return the text shown for an error: the sentence of this project's, or of a file's; None of any other."""
    if type(error).__module__.startswith("pipelines."):
        return str(error)
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM, errno.EROFS} and error.filename:
        return f"{error.filename}: {error.strerror}. {_ONE_USER}"
    if isinstance(error, OSError) and error.errno in _NO_SUCH_PLACE and error.filename:
        return f"{error.filename}: {error.strerror}. Correct the path, or free some disk"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return "there is not enough memory: lower [warehouse] memory_limit and threads, or allow the process more"
    return _of_a_store(error) if isinstance(error, sqlite3.DatabaseError) else None


def _of_a_store(error: sqlite3.DatabaseError) -> str | None:
    if "readonly database" in str(error) or "unable to open" in str(error):
        return f"the work list or the vault cannot be opened, or not be written. {_ONE_USER}"
    if str(error).endswith(("malformed", "not a database")):
        return "the work list or the vault is damaged: `ordermart inventory` says which, and what to do"
    return None


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
    yield from (line("landed", kind=kind, verdicts=dict(verdicts)) for kind, verdicts in run.landed.items())
    for table, check, violations in run.failing:
        yield line("check", table=table, check=check, violations=violations)
    for text in [*run.notes, *([f"Published nothing: {run.why_kept}."] if run.why_kept else [])]:
        yield line("note", text=text)
    for kind, sentences in run.incomplete.items():
        yield from (line("incomplete", kind=kind, text=text) for text in sentences)
    yield from (line("settings", text=text) for text in run.doubts)
    yield from (line("error", text=text) for text in run.errors)
    yield from (line("maintenance_failed", text=text) for text in run.undone)
    good = {"is_good": run.run_state == "good", "is_new_release": run.did_all_steps and run.is_new}
    made = {"release": run.release or None, "checks": run.checks}
    yield line("ended", exit_code=exit_code, run_id=run.id, kind=run.kind, **good, **made)
