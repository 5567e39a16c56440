"""Say in one line how the night went, and name the one command to run next: the most urgent cause decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.report.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipelines.record import Run

_FIRST = ("run_failed", "outage", "verification", "incomplete", "disk", "silence", "no_good_night", "rule_changed")
_COMMANDS = {
    "outage": "ordermart doctor",
    "run_failed": "ordermart doctor",
    "no_good_night": "ordermart doctor",
    "verification": "ordermart build --full",
    "incomplete": "ordermart run",
    "silence": "ordermart doctor",
    "disk": "ordermart status",
    "rule_changed": "ordermart questions",
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


def headline(run: Run, state: Mapping[str, Any], books: Books | None) -> Headline:
    """Return the verdict on a run, the state of the data folder and the books of its release (None: no release)."""
    causes = {alarm["cause"].partition(":")[0]: alarm["text"] for alarm in state["alarms"]}
    if run.verdict != "good":
        what = _failure(run, causes)
        cause = next((name for name in _FIRST if name in causes), "run_failed")
        return Headline("bad", what, _COMMANDS[cause], "to see what to fix" if cause in _FIRST[:2] else "")
    if books is None:
        return Headline("bad", "The run ended, but there is no release.", "ordermart build")
    for cause in _FIRST:
        if cause in causes:  # of a night, after a run for webhooks that was good itself
            return Headline("bad" if cause in _FIRST[:2] else "warn", causes[cause], _COMMANDS[cause])
    found = [counted(number, kind, f"{kind}s") for kind, number in books.variances.items() if number]
    rejected = sum(row["count"] for row in (state["release"] or {}).get("quarantine", []))
    if rejected:
        found.append(counted(rejected, "rejected or failed document", "rejected or failed documents"))
    if books.indeterminate:
        found.append(counted(books.indeterminate, "indeterminate order", "indeterminate orders"))
    if not found:
        return Headline("good", f"{_published(run, state)}; everything adds up.", "", "No command is needed.")
    dead = sum(counts.get("dead", 0) for counts in state["work_list"].values())
    return Headline("warn", f"{_published(run, state)}; open: {', '.join(found)}.", *_next(books, rejected, dead))


def _failure(run: Run, causes: Mapping[str, str]) -> str:
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
    return next((causes[name] for name in causes if name == "incomplete"), "The run is not complete.")


def _published(run: Run, state: Mapping[str, Any]) -> str:
    if run.is_new:
        return "A new release is published"
    return "Changes wait for the next release" if state["publication_due"] else "Nothing changed since the last release"


def _next(books: Books, rejected: int, dead: int) -> Iterator[str]:
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
    elif dead:
        yield "ordermart retry"
        yield f"to request the {counted(dead, 'id', 'ids')} of the dead-letter queue again"
    elif rejected:
        yield "ordermart status"
        yield "to see what was rejected; it is requested again on later days"
    else:
        yield "ordermart questions"
        yield "to see what would decide the indeterminate orders"
