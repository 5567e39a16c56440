"""The steps of a run, in their order, as plain functions over its record.

| step | what it does |
|---|---|
| heal | brings the data folder to its present format, and rebuilds damaged files that can be derived |
| stores, menus, orders | fetch the documents of a kind that are due, and land them |
| build | makes the tables, and records restatements |
| publish | publishes a release, if readers need one |
| maintenance | of a night: removes by retention, merges small files, verifies a part of the warehouse |

Each gets the run under way and its own part of the record, to which it adds what it did. It raises what ends the run.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, cast

from pipelines.backup.comparing import DamageError, mend
from pipelines.clock import utc_now
from pipelines.finance.restating import build_and_record
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.loop import ingest, ingest_unlisted_stores
from pipelines.ingest.maintenance import TaskResult, run_maintenance
from pipelines.ingest.plan import add_requested, plan_orders, report_plan_results
from pipelines.partner import ServiceDown
from pipelines.record import NIGHT, RunKind
from pipelines.run.dagster_records import prune_records
from pipelines.run.healing import check_before_run, heal
from pipelines.warehouse import BuildBlocked, publish
from pipelines.warehouse.building.order_lookup import unbuilt_loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.ingest.session import PartnerSession
    from pipelines.record import Step
    from pipelines.run.under_way import UnderWay
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind
    from pipelines.warehouse import CheckResult


class NothingCameError(Exception):
    """The service stopped the run before anything of it was landed; the message says why."""


def _heal(way: UnderWay, step: Step) -> None:
    check_before_run(way.settings)
    found = mend(way.settings, seconds=way.settings.verify.read_seconds if way.run.kind == NIGHT else 0)
    step.said += [*(damage.sentence() for damage in found.damages), *([f"{found.overdue}."] if found.overdue else [])]
    step.shortfalls += [damage.sentence() for damage in found.damages if not damage.is_mended]
    if stopping := [damage.sentence() for damage in found.damages if damage.stops]:
        raise DamageError(" ".join(stopping))
    step.said += heal(way.settings, way.progress, kind=way.run.kind, resumes=way.run.resumes)


def _fetch(way: UnderWay, step: Step) -> None:
    kind = cast("Kind", step.name)
    asked, since = way.asked, way.run.resumes

    def request(work: WorkList) -> None:
        if kind == "menus":
            add_requested(work, menu_ids_file=asked.menu_ids, unless_done_since=since)
        elif kind == "orders":
            add_requested(
                work,
                order_ids_file=asked.order_ids,
                order_id_range=asked.order_id_range,
                unless_done_since=since,
            )
            if way.run.kind == NIGHT:
                step.said += plan_orders(way.settings, work)

    ingested = ingest(
        way.settings, kind, way.progress, request, lists=way.run.kind == NIGHT, session=way.partner, since=since
    )
    step.asked = ingested.due
    step.counts = {verdict: ingested.counts[verdict] for verdict in sorted(ingested.counts)}
    step.shortfalls = list(ingested.shortfalls)
    if ingested.returned:
        step.said.append(
            f"{ingested.returned:,} {kind} came back to an earlier version: a change that was undone, or an old answer "
            "of the service; the versions are in core.order_versions and its like."
        )
    step.is_outage = isinstance(ingested.stopped, ServiceDown)
    if kind == "orders":
        with WorkList(inbox_path(way.settings.data_dir)) as work:
            step.said += report_plan_results(way.settings, work, ingested.loads)
        _land_unlisted_stores(way)


def _land_unlisted_stores(way: UnderWay) -> None:
    """Fetch the stores that orders name and the list does not, and count them with the step of the stores."""
    if unlisted := ingest_unlisted_stores(way.settings, way.partner, way.progress):
        of_stores = next(each for each in way.run.steps if each.name == "stores")
        of_stores.shortfalls += unlisted.shortfalls
        for verdict, count in unlisted.counts.items():
            of_stores.counts[verdict] = of_stores.counts.get(verdict, 0) + count


def _build(way: UnderWay, step: Step) -> None:
    fail_if_nothing_came(way.settings, way.partner)
    try:
        result = build_and_record(way.settings, progress=way.progress)
    except BuildBlocked as blocked:
        way.checks = blocked.checks
        _note_checks(way, blocked.checks)
        raise
    way.result, way.checks = result, result.checks
    _note_checks(way, result.checks)
    way.run.rows = {name: rows for name, rows in result.rows.items() if name in result.changed_tables}
    step.counts = {"changed tables": len(result.changed_tables)}
    step.said += result.notes


def fail_if_nothing_came(settings: Settings, session: PartnerSession) -> None:
    """Raise NothingCameError if the service stopped the run, and neither it nor a run before landed anything new."""
    stopped = [ingested for ingested in session.ingested if ingested.stopped]
    if not stopped or any(ingested.requested for ingested in session.ingested) or unbuilt_loads(settings.data_dir):
        return
    kinds: dict[str, list[str]] = {}
    for ingested in stopped:
        kinds.setdefault(str(ingested.stopped), []).append(ingested.kind)
    sentence = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in kinds.items())
    raise NothingCameError(sentence) from stopped[0].stopped


def _note_checks(way: UnderWay, checks: list[CheckResult]) -> None:
    way.run.checks = len(checks)
    way.run.failing = [(each.table, each.name, each.violations) for each in checks if each.violations]


def _publish(way: UnderWay, step: Step) -> None:
    release = publish(way.settings, way.result, run=way.run.kind)
    step.said += release.notes
    way.run.rows |= release.own
    if release.why_kept:
        step.said.append(f"No release was published: {release.why_kept} {release.id}.")


def _maintenance(way: UnderWay, step: Step) -> None:
    for result in [*run_maintenance(way.settings), _prune_dagster(way.settings)]:
        if result.error:
            step.shortfalls.append(f"{result.task}: {result.error}")
        else:
            step.counts[result.task] = result.items


def _prune_dagster(settings: Settings) -> TaskResult:
    task = "old Dagster runs removed"
    try:
        return TaskResult(task, prune_records(settings.data_dir / "dagster", settings.dagster.keep_days, utc_now()))
    except (OSError, sqlite3.Error) as error:
        return TaskResult(task, 0, f"{type(error).__name__}: {error}")


STEPS: dict[str, Callable[[UnderWay, Step], None]] = {
    "heal": _heal,
    "stores": _fetch,
    "menus": _fetch,
    "orders": _fetch,
    "build": _build,
    "publish": _publish,
    "maintenance": _maintenance,
}


def steps_of(kind: RunKind) -> list[str]:
    """Return the names of the steps of a kind of run."""
    return [name for name in STEPS if kind == NIGHT or name != "maintenance"]
