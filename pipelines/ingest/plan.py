"""Put ids on the work list: those that a run was asked for, and known orders that are due again.

The values come from the warehouse and from landed files, the rules from the inbox.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox import planner
from pipelines.inbox.deliveries import notified_ids
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import GAP_PROBE
from pipelines.landing.raw_folder import read_rows
from pipelines.literals import encoding_of
from pipelines.settings import SettingsError
from pipelines.warehouse.building.stored_warehouse import known_orders, never_found

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Settings


def plan_orders(settings: Settings, work: WorkList, now: datetime | None = None) -> list[str]:
    """Add the known orders that are due again, within [planner] request_budget; return sentences on the plan."""
    now = now or utc_now()
    planned = planner.plan(known_orders(settings.data_dir), now, settings.planner)
    planner.add_plan(work, planned)
    gap: list[int] = []
    if settings.planner.gap_probe:
        gap = planner.gap_ids(
            (known.id for known in known_orders(settings.data_dir)),
            never_found(settings.data_dir),
            settings.planner.gap_budget,
        )
        work.add("orders", gap, GAP_PROBE)
    if planned.due or planned.sample or gap:
        planner.keep_plan(inbox_path(settings.data_dir), planned, gap, now)
    return [planned.sentence()]


def report_plan_results(settings: Settings, work: WorkList, loads: Sequence[str]) -> list[str]:
    """Evaluate the sample and the gap probe of the last plan on these loads; keep the results, return sentences.

    A sampled order that something else requested too, such as a webhook, is not a missed change. Return nothing if the
    last plan has been evaluated already.
    """
    path = inbox_path(settings.data_dir)
    last = planner.plans(path)[-1:]
    if not last or last[0].evaluated_at is not None:
        return []
    (kept,) = last
    rows = read_rows(settings.data_dir, "orders", "observations", ("id", "verdict"), loads)
    verdicts = dict(rows)  # the last of each
    sample = {id_: verdicts[id_] for id_ in kept.sample if id_ in verdicts}
    answered = [id_ for id_, verdict in sample.items() if verdict in ("accepted", "unchanged")]
    entries = {id_: work.entry("orders", id_) for id_ in answered if verdicts[id_] == "accepted"}
    changed = sum(entry is None or entry.why == {planner.SAMPLE} for entry in entries.values())
    missed = planner.missed_changes(len(answered), changed, kept.population)
    found = {id_ for id_ in kept.gap if verdicts.get(id_) == "accepted"}
    gaps = planner.gap_report({id_ for id_ in kept.gap if id_ in verdicts}, found, notified_ids(path, "orders"))
    not_found = sum(verdict == "missing" for verdict in sample.values())
    planner.keep_results(path, kept.no, missed, not_found, gaps)
    return ([missed.sentence()] if kept.sample else []) + ([gaps.sentence()] if kept.gap else [])


_LARGEST_ID = 2**63 - 1


def ids_of_file(path: Path) -> Iterator[int]:
    """Yield the ids of a file, one per line; skip blank lines and lines that start with #.

    Raise SettingsError with file and line for anything that is no id.
    """
    try:
        with path.open("rb") as file:
            encoding = encoding_of(file.read(4))
        with path.open(encoding=encoding, errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LARGEST_ID):
                    raise SettingsError(f"{path.name}, line {number}: not a valid id; use one integer per line")
                yield int(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def ids_of_range(text: str) -> range:
    """Return the ids of a range written A-B, both included; raise SettingsError for anything else."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last) <= _LARGEST_ID):
        raise SettingsError(f"--order-id-range: {text!r} is not a valid range; use A-B (inclusive), e.g. 100-200")
    return range(int(first), int(last) + 1)


def add_requested(
    work: WorkList,
    *,
    order_ids_file: str = "",
    order_id_range: str = "",
    menu_ids_file: str = "",
    unless_done_since: datetime | None = None,
) -> None:
    """Add the requested ids to the work list, each with the reason for the request.

    `unless_done_since` leaves out what was fetched since then, so that a repeated request resumes a killed run.
    """
    since = unless_done_since
    # Lists, not iterators: a file with an invalid line adds nothing.
    if order_ids_file:
        work.add("orders", list(ids_of_file(Path(order_ids_file))), why="order-ids file", unless_done_since=since)
    if order_id_range:
        work.add("orders", ids_of_range(order_id_range), why="order-id range", unless_done_since=since)
    if menu_ids_file:
        work.add("menus", list(ids_of_file(Path(menu_ids_file))), why="menu-ids file", unless_done_since=since)
