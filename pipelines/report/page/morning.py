"""Write the morning page after every run: `published/morning.html`, atomically, and a copy in a new release.

Its headline says in one line how the night went, and names the one command to run next: the most urgent cause decides.
A page that cannot be written fails no run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import write_whole
from pipelines.finance.periods import Selection
from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import FinanceError, released
from pipelines.notify import CAUSES
from pipelines.record import NIGHT, WEBHOOKS, current_release, ended_runs
from pipelines.report.page import render
from pipelines.report.page.facts import largest_breaks, reconciled_facts, released_facts
from pipelines.report.settlement_views import settled_facts
from pipelines.report.status import status
from pipelines.report.text import counted

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.record import Run
    from pipelines.settings import Settings


PAGE = "morning.html"
_READABLE = 0o644
_BREAKS, _ROWS = 6, 8
SHOWN = 30
_COLOURS = {"good": "blue", "incomplete": "orange", "failed": "red", "stopped": "red", "killed": "red"}
_COMMANDS = {cause: command for cause, (_, command) in CAUSES.items() if command}
_FAILED = ("run_failed", "outage")


def write_morning_page(settings: Settings, run: Run, now: dt.datetime | None = None) -> str:
    """Write the page of a run that ended; return why it could not be written, "" if it was. Raise nothing."""
    try:
        _write(settings, run, now or utc_now())
    except Exception as error:  # noqa: BLE001 -- the run is over; its page must not change how it ended
        return f"The morning page could not be written: {type(error).__name__}"
    return ""


def _write(settings: Settings, run: Run, now: dt.datetime) -> None:
    runs = [*(each for each in ended_runs(settings.data_dir, is_any_alive=True) if each.id != run.id), run]
    file = settings.data_dir / "published" / PAGE
    release = current_release(settings.data_dir / "published")
    state = status(settings, now)
    books, unread, facts = None, "There is no release yet.", dict[str, Any](settled={})
    if release is not None:
        try:
            with released(settings) as opened:
                reconciled = reconciliation(opened, Selection())
                settled = settled_facts(opened, now.date())
                first = next((each["order_id"] for each in largest_breaks(reconciled, 1)), None)
                counts = reconciled.variances(), reconciled.indeterminate_count()
                books = Books(*counts, first, settled.get("break_count", 0))
                facts = released_facts(opened) | reconciled_facts(reconciled, _BREAKS, _ROWS) | {"settled": settled}
                unread = ""
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


def nights_facts(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the last nights, oldest first, and how many ended in which way."""
    nights = [_night(run) for run in runs if run.kind == NIGHT][-SHOWN:]
    for place, night in enumerate(reversed(nights)):
        night["name"] = f"{night['ended_at']:%-d %b}" if place % 7 == 0 else ""
    counts = {name: sum(night["outcome"] == name for night in nights) for name in _COLOURS}
    return {
        "nights": nights,
        "ended": ", ".join(f"{number} {name}" for name, number in counts.items() if number),
        "legend": [(_COLOURS[name], name) for name, number in counts.items() if number],
        "slowest": max((night["value"] for night in nights), default=0),
    }


def _night(run: Run) -> dict[str, Any]:
    accepted = {kind: verdicts.get("accepted", 0) for kind, verdicts in run.landed.items()}
    return {
        "ended_at": run.ended_at or run.started_at,
        "outcome": run.verdict,
        "value": run.seconds,
        "before": None,
        "took": f"{run.seconds:.1f} s" if run.seconds < 60 else f"{run.seconds // 60:.0f} min {run.seconds % 60:.0f} s",
        "is_new": run.is_new,
        "accepted": ", ".join(f"{number:,} {kind}" for kind, number in accepted.items() if number) or "nothing new",
        "colour": _COLOURS[run.verdict],
        "mark": "×" if _COLOURS[run.verdict] == "red" else "",  # so that colour is not needed
    }


@dataclass(frozen=True)
class Headline:
    """The verdict in one line, its level (good, warn or bad) and the command to run next, with its reason."""

    level: str
    sentence: str
    command: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Books:
    """What a reconciliation of the current release leaves open."""

    variances: Mapping[str, int]
    indeterminate: int = 0
    largest_break: int | None = None
    settlements: int = 0  # open breaks of statements and payouts


def headline(run: Run, state: Mapping[str, Any], books: Books | None) -> Headline:
    """Return the verdict on a run, the state of the data folder and the books of its release (None: no release)."""
    causes = {alarm["cause"].partition(":")[0]: alarm["text"] for alarm in state["alarms"]}
    if run.verdict != "good":
        what = _what_failed(run, causes)
        cause = next((name for name in _COMMANDS if name in causes), "run_failed")
        return Headline("bad", what, _COMMANDS[cause], "to see what to fix" if cause in _FAILED else "")
    if books is None:
        return Headline("bad", "The run ended, but there is no release.", "ordermart build")
    for cause, command in _COMMANDS.items():
        if cause in causes and cause != "models":  # of a night, after a run for webhooks that was good itself
            return Headline("bad" if cause in _FAILED else "warn", causes[cause], command)
    rejected = sum(row["count"] for row in (state["release"] or {}).get("quarantine", []))
    found = [
        f"{counted(number, one, many)}"
        for number, one, many in (
            (books.variances.get("break", 0), "order doesn't add up", "orders don't add up"),
            (
                books.variances.get("unposted restatement", 0),
                "change to a closed day isn't posted",
                "changes to closed days aren't posted",
            ),
            (books.variances.get("control total variance", 0), "control total differs", "control totals differ"),
            (books.settlements, "settlement differs", "settlements differ"),
            (rejected, "document is rejected or failed", "documents are rejected or failed"),
            (books.indeterminate, "order can't be tested", "orders can't be tested"),
        )
        if number
    ]
    found += [causes["models"].partition(":")[0]] if "models" in causes else []
    if not found:
        return Headline("good", f"{_published(run, state)}; everything adds up.", "", "No command is needed.")
    dead = sum(counts.get("dead", 0) for counts in state["work_list"].values())
    return Headline(
        "warn",
        f"{_published(run, state)}. {'; '.join(found)}.",
        *_next(books, rejected, dead, _COMMANDS["models"] if "models" in causes else ""),
    )


def _what_failed(run: Run, causes: Mapping[str, str]) -> str:
    if run.is_outage and run.is_published:
        orders = next((step for step in run.steps if step.name == "orders"), None)
        came = sum(orders.counts.values()) if orders else 0
        of_tonight = f"{came:,} of {orders.asked:,} orders are" if orders and orders.asked else "no order is"
        return f"The partner service stopped giving usable answers: {of_tonight} of tonight."
    if "outage" in causes:
        return "The partner service gave no usable answer: the figures are those of the last good night."
    if run.stopped_by:
        return f"The run {run.how}; the next run resumes it."
    if run.errors:
        return "The run failed: nothing was published, the figures are those of the last good night."
    return next((causes[name] for name in _COMMANDS if name in causes), "The run is not complete.")


def _published(run: Run, state: Mapping[str, Any]) -> str:
    if run.is_new:
        return "A new release is published"
    return "Changes wait for the next release" if state["publication_due"] else "Nothing changed since the last release"


def _next(books: Books, rejected: int, dead: int, own: str) -> Iterator[str]:
    """Yield the command and its reason."""
    if books.largest_break is not None:
        yield f"ordermart explain order {books.largest_break}"
        yield "to see where the largest break comes from"
    elif books.variances.get("control total variance"):
        yield "ordermart reconcile"
        yield "to see which control totals differ"
    elif books.variances.get("unposted restatement"):
        yield "ordermart restatements list"
        yield "to see what changed on closed days"
    elif books.settlements:
        yield "ordermart settlements list"
        yield "to see what platforms did not settle or pay"
    elif dead:
        yield "ordermart retry"
        yield f"to request the {counted(dead, 'id', 'ids')} of the dead-letter queue again"
    elif rejected:
        yield "ordermart status"
        yield "to see what was rejected; it is requested again on later days"
    elif books.indeterminate or not own:
        yield "ordermart questions"
        yield "to see what would decide the indeterminate orders"
    else:
        yield own
        yield "to see what is wrong with your own tables"
