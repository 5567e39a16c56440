"""Write the morning page after every run: `published/morning.html`, atomically, and a copy in a new release.

A page that cannot be written fails no run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import write_whole
from pipelines.finance.periods import Selection
from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import FinanceError, released
from pipelines.record import NIGHT, WEBHOOKS, current_release, ended_runs
from pipelines.report.page.headline import Books, headline
from pipelines.report.page.nights import nights_facts
from pipelines.report.page.reconciled_facts import largest_breaks, reconciled_facts
from pipelines.report.page.released_facts import released_facts
from pipelines.report.page.template import render
from pipelines.report.status import status

if TYPE_CHECKING:
    import datetime as dt
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation
    from pipelines.record import Run
    from pipelines.settings import Settings

PAGE = "morning.html"
_READABLE = 0o644
_BREAKS, _ROWS = 6, 8


def morning_page(published: Path) -> Path:
    """Return where the page is, below `published`."""
    return published / PAGE


def write_morning_page(settings: Settings, run: Run, now: dt.datetime | None = None) -> str:
    """Write the page of a run that ended; return why it could not be written, "" if it was. Raise nothing."""
    try:
        _write(settings, run, now or utc_now())
    except Exception as error:  # noqa: BLE001 -- the run is over; its page must not change how it ended
        return f"The morning page could not be written: {type(error).__name__}"
    return ""


def _write(settings: Settings, run: Run, now: dt.datetime) -> None:
    runs = [*(each for each in ended_runs(settings.data_dir, is_any_alive=True) if each.id != run.id), run]
    file = morning_page(settings.data_dir / "published")
    release = current_release(settings.data_dir / "published")
    state = status(settings, now)
    books, unread, facts = None, "There is no release yet.", {}
    if release is not None:
        try:
            with released(settings) as opened:
                reconciled = reconciliation(opened, Selection())
                books = _books(reconciled)
                facts, unread = released_facts(opened) | reconciled_facts(reconciled, _BREAKS, _ROWS), ""
        except (duckdb.Error, FinanceError) as error:
            unread = f"The release cannot be read: {type(error).__name__}. See `ordermart doctor`."
    last_night = next((each for each in reversed(runs) if each.kind == NIGHT), None)
    page = render(
        "morning.html",
        now=now,
        said=headline(run, state, books),
        run=_run(run),
        night=_run(last_night) if last_night and run.kind == WEBHOOKS else None,  # it must not be gone by the morning
        nights=nights_facts(runs),
        state=state,
        release=release,
        unread=unread,
        most=_ROWS,
        **facts,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    copies = [release / PAGE] if release is not None and not (release / PAGE).exists() else []
    for written in (file, *copies):
        write_whole(written, page.encode())
        written.chmod(_READABLE)  # as releases are; what else a run writes is its owner's alone


def _books(reconciled: Reconciliation) -> Books:
    largest = largest_breaks(reconciled, 1)
    first = largest[0]["order_id"] if largest else None
    return Books(reconciled.variances(), reconciled.indeterminate_count(), first)


def _run(run: Run) -> dict[str, Any]:
    """Return what a run did; `verdicts` are those that any kind has a count of, and `head` names them."""
    verdicts = sorted({verdict for counts in run.landed.values() for verdict, number in counts.items() if number})
    return {
        "kind": "night" if run.kind == NIGHT else "run for webhooks",
        "ended_at": run.ended_at or run.started_at,
        "took": f"{run.seconds:,.1f} s",
        "outcome": run.verdict,
        "errors": [*run.errors, *([f"The run {run.how}."] if run.stopped_by else [])],
        "landed": run.landed,
        "verdicts": verdicts,
        "head": ["kind", *(f"{verdict.replace('_', ' ')}#" for verdict in verdicts)],
    }
