"""The steps of a run, in their order, as plain functions over its record.

| step | what it does |
|---|---|
| heal | brings the data folder to its present format, and rebuilds damaged files that can be derived |
| stores, menus, orders | fetch the documents of a kind that are due, and land them |
| build | makes the tables, and records restatements |
| publish | publishes a release, if readers need one |
| maintenance | of a night: removes by retention, merges small files, verifies a part; what fails stops nothing else |

Each gets the run under way and its own part of the record, to which it adds what it did. It raises what ends the run.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, cast

from pipelines.backup.comparing import DamageError, mend
from pipelines.clock import utc_now
from pipelines.finance.restating import build_and_record
from pipelines.inbox.deliveries import prune_deliveries
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.loop import ingest, ingest_unlisted_stores
from pipelines.ingest.plan import add_requested, plan_orders, report_plan_results
from pipelines.landing import merge_days
from pipelines.partner import ServiceDown
from pipelines.record import NIGHT, RunKind
from pipelines.run.dagster_records import prune_records
from pipelines.run.healing import check_before_run, heal
from pipelines.settings.kinds import KINDS
from pipelines.vault import open_vault
from pipelines.warehouse import BuildBlocked, publish, warehouse_file
from pipelines.warehouse.building.order_lookup import created_before, unbuilt_loads
from pipelines.warehouse.verify import VerifyError, verify_next

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.ingest.session import PartnerSession
    from pipelines.record import Step
    from pipelines.run.under_way import UnderWay
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind
    from pipelines.warehouse import CheckResult

FRACTION = Fraction(1, 64)  # of the orders and days is verified each night


class TaskResult(NamedTuple):
    """The result of one task: how many items it handled, or the error that stopped it."""

    task: str
    items: int
    error: str = ""


def run_maintenance(settings: Settings, now: datetime | None = None) -> list[TaskResult]:
    """Run every maintenance task and return their results; raise nothing."""
    results, now = [], now or utc_now()
    for task, run in _TASKS.items():
        try:
            results.append(TaskResult(task, run(settings, now)))
        except Exception as error:  # noqa: BLE001 -- report and continue: maintenance must not fail the run
            is_own = type(error).__module__.startswith("pipelines.")  # a library may quote a value of a document
            results.append(TaskResult(task, 0, f"{type(error).__name__}: {error}" if is_own else type(error).__name__))
    return results


def _prune_entries(settings: Settings, now: datetime) -> int:
    with WorkList(inbox_path(settings.data_dir)) as work:
        return work.prune(now - timedelta(days=settings.webhooks.retention_days))


def _purge_quarantine(settings: Settings, now: datetime) -> int:
    with open_vault(settings) as vault:
        return vault.refused.purge(now)


def _expire(settings: Settings, now: datetime) -> int:
    """Destroy the personal data of orders older than [privacy] retention_days; return of how many."""
    if not settings.privacy.retention_days:
        return 0
    limit = now - timedelta(days=settings.privacy.retention_days)
    with open_vault(settings) as vault:
        return vault.erasing.expire(created_before(settings.data_dir, limit), limit)


def _verify(settings: Settings, _now: datetime) -> int:
    """Verify the next part of the warehouse; return how many orders it proved, raise VerifyError if rows differ."""
    if not settings.verify.seconds or not warehouse_file(settings.data_dir).exists():
        return 0
    verified = verify_next(settings, FRACTION, timedelta(seconds=settings.verify.seconds))
    if against := verified.judged().against:
        more = f"; {len(against) - 1} more differences" if verified.differences else ""
        raise VerifyError(f"{against[0]}{more}. Run `ordermart build --full` and report it")
    return verified.orders


_TASKS: dict[str, Callable[[Settings, datetime], int]] = {
    "finished work-list entries pruned": _prune_entries,
    "old deliveries pruned": lambda settings, now: prune_deliveries(
        inbox_path(settings.data_dir), now - timedelta(days=settings.webhooks.retention_days)
    ),
    "quarantined payloads purged": _purge_quarantine,
    "orders whose personal data expired": _expire,
    "loads of past days merged": lambda settings, now: sum(
        merge_days(settings.data_dir, kind, now.date()) for kind in KINDS
    ),
    "orders rebuilt from raw and compared": _verify,
}


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
    step.shortfalls = ingested.judged().against
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
