"""The head of the morning page: how bad the morning is, the news, the first command, and what else is still open.

An example: "A new release is published; new: 3 orders don't add up." is followed by the command that explains the
largest of the three, by a line for these, with amount and age, and by one line for the 12 rejected documents of last
month. A matter that the release of the night before had open stands; it doesn't ask for attention if no amount is off.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from pipelines.finance.reconciliation import create_break_views
from pipelines.finance.released import FinanceError, Released, finance_sql, money_of, open_release, records
from pipelines.notify import CAUSES
from pipelines.record import NIGHT, Run
from pipelines.report.status import named
from pipelines.report.text import counted
from pipelines.settings import Settings

_COMMANDS = {cause: command for cause, (_, command) in CAUSES.items() if command}
_FAILED = ("run_failed", "outage")
_IN_WORDS, _IN_LINE = 2, 3  # kinds in the first sentence; currencies of a line


class KindOfMatter(NamedTuple):
    """One of a kind and several in words, their section of the page, the command that says more, and its reason."""

    one: str
    many: str
    section: str
    command: str
    reason: str


_KINDS = {  # the most urgent first
    "break": KindOfMatter(
        "order doesn't add up", "orders don't add up", "breaks",
        "ordermart breaks list", "to see by how much each is off",
    ),
    "control total": KindOfMatter(
        "control total differs", "control totals differ", "control-totals",
        "ordermart reconcile", "to see which control totals differ",
    ),
    "restatement": KindOfMatter(
        "change to a closed day isn't posted", "changes to closed days aren't posted", "restatements",
        "ordermart restatements list", "to see what changed on closed days",
    ),
    "settlement": KindOfMatter(
        "settlement differs", "settlements differ", "settlements",
        "ordermart settlements list", "to see what platforms did not settle or pay",
    ),
    "unmapped": KindOfMatter(
        "order has a status that [sales] does not name", "orders have a status that [sales] does not name", "sales",
        "ordermart questions", "to see which statuses are neither counted nor excluded",
    ),
    "rejected": KindOfMatter(
        "document is rejected or failed", "documents are rejected or failed", "quarantine",
        "ordermart status", "to see what was rejected; it is requested again on later days",
    ),
    "untested": KindOfMatter(
        "order can't be tested", "orders can't be tested", "rules",
        "ordermart questions", "to see what would decide the indeterminate orders",
    ),
}  # fmt: skip
_WITHOUT_AMOUNT = ("rejected", "untested")
_ADDED = ("unmapped",)  # their amounts are added up: an order is one item
_TO_NAME = "write into [sales] counted_statuses or excluded_statuses: "
# A status that is not a few words may be anything: it is not shown.
_STATUSES = """
    select if(coalesce(regexp_full_match(status, '[A-Za-z_ -]{1,30}'), true), status, 'others'), count(*) as number
    from mart.orders where sale_class = 'unmapped' group by 1 order by number desc, 1
"""
_SUMMED = """
    select kind, currency, count(*) as number, count(*) filter (item not in (select item from earlier_items
        where earlier_items.kind = open_items.kind)) as new, max(amount) as largest, sum(amount) as amount,
        min(since_date) as since
    from open_items group by kind, currency order by kind, number desc, currency
"""


@dataclass(frozen=True)
class OpenMatters:
    """What a release leaves open of one kind: how many, how many are new, amounts, since when, and what to do."""

    kind: str
    number: int
    new: int = 0
    amounts: str = ""  # the largest of each currency; mostly no sum: an order and its line may both be open
    since: dt.date | None = None
    to_do: str = ""  # what to write where

    @property
    def section(self) -> str:
        """The section of the page that lists them."""
        return _KINDS[self.kind].section

    def in_words(self, number: int | None = None) -> str:
        """Return all of them, or so many, in words."""
        kind = _KINDS[self.kind]
        return counted(self.number if number is None else number, kind.one, kind.many)


@dataclass(frozen=True)
class Headline:
    """How bad it is (good, warn or bad) in a sentence, the command to run first, its reason, and the open matters."""

    level: str
    sentence: str
    command: str = ""
    reason: str = ""
    new: Sequence[OpenMatters] = ()
    older_matters: Sequence[OpenMatters] = ()


def open_matters(settings: Settings, opened: Released, runs: Sequence[Run]) -> list[OpenMatters]:
    """Return what a release with its view `open_breaks` leaves open, by kind, the most urgent first.

    A matter is new if the release of the night before this one did not have it open. If that was removed, the oldest
    release since then counts; if it cannot be read, everything is new.
    """
    opened.con.register("earlier_items", _earlier_items(settings, opened, runs))
    opened.con.execute(f"create or replace temp view open_items as {finance_sql('open_items')}")
    rows = records(opened.con, _SUMMED)
    to_do = {"unmapped": _TO_NAME + named(opened.con.execute(_STATUSES).fetchall())}
    own = {kind: [row for row in rows if row["kind"] == kind] for kind in _KINDS}
    return [_of_kind(kind, found, to_do.get(kind, "")) for kind, found in own.items() if found]


def _earlier_items(settings: Settings, opened: Released, runs: Sequence[Run]) -> pa.Table:
    nothing = pa.table({"kind": pa.array([], pa.string()), "item": pa.array([], pa.string())})
    nights = [run for run in runs if run.kind == NIGHT]
    before = nights[-2].release if len(nights) > 1 else ""
    folders = sorted(opened.path.parent.iterdir())
    kept = [each for each in folders if before == each.name or before < each.name < opened.path.name]
    if not before or not kept:
        return nothing
    try:
        with open_release(settings, path=kept[0]) as earlier:
            create_break_views(earlier)
            return earlier.con.execute(f"select kind, item from ({finance_sql('open_items')})").to_arrow_table()
    except (duckdb.Error, FinanceError):  # of an older version: all counts as new
        return nothing


def _of_kind(kind: str, rows: list[dict[str, Any]], to_do: str) -> OpenMatters:
    column, most = ("amount", "") if kind in _ADDED else ("largest", "up to ")
    amounts = [money_of(row[column], row["currency"]) for row in rows if row[column]]
    more = [f"{len(amounts) - _IN_LINE} more currencies"] if len(amounts) > _IN_LINE else []
    days = [row["since"] for row in rows if row["since"]]
    number, new = (sum(row[key] for row in rows) for key in ("number", "new"))
    shown = most * bool(amounts) + ", ".join([*amounts[:_IN_LINE], *more])
    return OpenMatters(kind, number, new, shown, min(days, default=None), to_do)


def headline(
    run: Run, state: Mapping[str, Any], matters: Sequence[OpenMatters] | None, largest_break: int | None = None
) -> Headline:
    """Return the verdict on a run, the state of the data folder and what its release leaves open (None: no release)."""
    causes = {alarm["cause"].partition(":")[0]: alarm["text"] for alarm in state["alarms"]}
    new = [each for each in matters or () if each.new]
    older_matters = [each for each in matters or () if not each.new]
    if run.run_state != "good":
        cause = next((name for name in _COMMANDS if name in causes), "run_failed")
        reason = "to see what to fix" if cause in _FAILED else ""
        return Headline("bad", _what_failed(run, causes), _COMMANDS[cause], reason, new, older_matters)
    if matters is None:
        return Headline("bad", "The run ended, but there is no release that can be read.", "ordermart build")
    for cause, command in _COMMANDS.items():
        if cause in causes and cause != "models":  # of a night, after a run for webhooks that was good itself
            return Headline("bad" if cause in _FAILED else "warn", causes[cause], command, "", new, older_matters)
    own = causes.get("models", "").partition(":")[0]
    dead = sum(counts.get("dead", 0) for counts in state["work_list"].values())
    words = [each.in_words(each.new) for each in new[:_IN_WORDS]] + ["and more"] * (len(new) > _IN_WORDS)
    said = f"new: {', '.join(words)}" if new else "nothing new is open" if matters else "everything adds up"
    sentence = f"{_published(run, state)}; {said}{f'; {own}' if own else ''}."
    if first := min(matters or (), key=lambda each: not each.new, default=None):
        command, reason = _next(first, largest_break, dead)
    elif own:
        command, reason = _COMMANDS["models"], "to see what is wrong with your own tables"
    else:
        return Headline("good", sentence, "", "No command is needed.")
    is_good = not new and not own and all(each.kind in _WITHOUT_AMOUNT for each in older_matters)
    return Headline("good" if is_good else "warn", sentence, command, reason, new, older_matters)


def _what_failed(run: Run, causes: Mapping[str, str]) -> str:
    if run.is_outage and run.did_all_steps:
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


def _next(matter: OpenMatters, largest_break: int | None, dead: int) -> tuple[str, str]:
    """Return the command for the most urgent kind that is open, and its reason."""
    if matter.kind == "break" and largest_break is not None:
        return f"ordermart explain order {largest_break}", "to see where the largest break comes from"
    if matter.kind == "rejected" and dead:
        return "ordermart retry", f"to request the {counted(dead, 'id', 'ids')} of the dead-letter queue again"
    return _KINDS[matter.kind].command, _KINDS[matter.kind].reason
