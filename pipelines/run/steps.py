"""The steps of a run, in their order, as plain functions over its record.

| step | what it does |
|---|---|
| heal | brings the data folder to its present format, and rebuilds damaged files that can be derived |
| stores, menus, orders | fetch the documents of a kind that are due, and land them |
| build | makes the tables, and records restatements |
| publish | publishes a release, if readers need one |
| maintenance | of a night: removes by retention, merges small files, verifies a part; what fails stops nothing else |

Each gets the run under way and its own part of the record, to which it adds what it did. It raises what ends the run.

Before any of them, keys, credentials, rules and given files are checked: a night that ends with such an error after an
hour of requests is a night lost. Healing raises nothing for what it cannot rebuild: the run says so where it needs it.
"""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import duckdb

from pipelines.backup.comparing import DamageError, mend
from pipelines.clock import utc_now
from pipelines.engines import engine_of
from pipelines.finance.closing import build_and_record
from pipelines.finance.released import FinanceError, fiscal_periods
from pipelines.inbox.store import inbox_path, prune_deliveries
from pipelines.inbox.worklist import WorkList
from pipelines.ingest import loop
from pipelines.ingest.ingest_session import PartnerSession, current_stop
from pipelines.ingest.outcome import Ingested
from pipelines.landing.customers import settle_customers
from pipelines.landing.data_folder import migrate
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import LandingError, clock_set_back
from pipelines.ledger import LedgerError
from pipelines.ledger.signed_head import sign_missing_heads
from pipelines.partner.client import client_of
from pipelines.partner.exchange import PartnerMisconfigured, ServiceDown
from pipelines.partner.token import authenticate_request
from pipelines.privacy import PrivacyError, finish_erasure, remove_old_releases
from pipelines.record import COPYING, NIGHT, VERIFYING, WEBHOOKS, RunKind, Step, current_release
from pipelines.report.text import moment
from pipelines.settings import Settings, SettingsError
from pipelines.settings.kinds import KINDS, Kind
from pipelines.vault import VaultError, open_vault
from pipelines.vault.bodies import read_keys
from pipelines.warehouse.building.build import created_before, unbuilt_loads, unreadable, warehouse_file
from pipelines.warehouse.evidence.verdicts import unknown_rules
from pipelines.warehouse.inputs.relations import MissingDocumentError
from pipelines.warehouse.release.copies import CopyError, copy_release
from pipelines.warehouse.release.manifest import DATABASE, damaged_files, make_room
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.rows.fresh_rows import BuildBlocked, CheckResult
from pipelines.warehouse.rows.session import attached, fingerprint_of, remembered, session
from pipelines.warehouse.storage import NotOpenedError, short
from pipelines.warehouse.verify import VerifyError, verify_next

if TYPE_CHECKING:
    from pipelines.run.under_way import UnderWay

Progress = Callable[[str, int, int], None]

FRACTION = Fraction(1, 64)  # of the orders and days is verified each night


class TaskResult(NamedTuple):
    """The result of one task: how many items it handled, or the error that stopped it."""

    task: str
    items: int
    error: str = ""


def run_maintenance(settings: Settings, now: datetime | None = None) -> list[TaskResult]:
    """Run every maintenance task and return their results; raise nothing, unless a signal stops the run."""
    results, now = [], now or utc_now()
    for task, run in _TASKS.items():
        try:
            results.append(TaskResult(task, run(settings, now)))
        except Exception as error:
            if current_stop().signal:
                raise
            # report and continue: maintenance must not fail the run
            # another library may quote a value of a document
            is_plain = type(error).__module__.startswith("pipelines.") or isinstance(error, OSError | sqlite3.Error)
            why = f"{type(error).__name__}: {error}" if is_plain else type(error).__name__
            results.append(TaskResult(task, 0, why))
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
    if against := verified.assess().against:
        more = f"; {len(against) - 1} more differences" if verified.differences else ""
        raise VerifyError(f"{against[0]}{more}. Run `ordermart build --full` and report it")
    return verified.orders


def _copy(settings: Settings, _now: datetime) -> int:
    """Copy the release to each of [release] copies; return to how many, raise CopyError if any failed."""
    failed = []
    for url in settings.release.copies:
        try:
            copy_release(settings, url)
        except (CopyError, SettingsError) as error:
            failed.append(str(error))
    if failed:
        raise CopyError(f"{'; '.join(failed)}. Run `ordermart copy --to URL` once it is mended")
    return len(settings.release.copies)


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
    VERIFYING: _verify,
    COPYING: _copy,
}


def check_before_run(settings: Settings, id_files: Iterable[str] = (), order_id_range: str = "") -> None:
    """Raise SettingsError for the first thing that is wrong with the settings or the files of ids."""
    for file in id_files:
        for _ in loop.ids_of_file(Path(file)) if file else ():
            pass
    if order_id_range:
        loop.ids_of_range(order_id_range)
    try:
        read_keys(settings)
        authenticate_request(settings.partner)
        client_of(settings.partner)
    except (VaultError, PartnerMisconfigured) as error:
        raise SettingsError(str(error)) from None
    fiscal_periods(settings)
    engine_of(settings)
    for complaint in unknown_rules(settings):
        raise SettingsError(complaint)


def heal(
    settings: Settings, progress: Progress | None = None, *, kind: RunKind = NIGHT, resumes: datetime | None = None
) -> list[str]:
    """Repair what can be derived, and return a sentence for each thing that was found; one for a clock set back too.

    `resumes` is when the killed run began that this one resumes. The caller holds the lock.
    """
    notes = migrate(settings.data_dir)
    if resumes:
        notes.append(f"The run that began {moment(resumes)} did not end; this one resumes it.")
    if behind := clock_set_back(settings.data_dir):
        notes.append(behind)
    if kind == NIGHT:
        make_room(settings)
    is_lost = _set_work_list_aside(inbox_path(settings.data_dir), notes)
    try:
        sign_missing_heads(settings)
        finish_erasure(settings, progress)
        settle_customers(settings)
        notes += _derived(settings, progress, kind)
        remove_old_releases(settings)
    except (
        LandingError,
        LedgerError,
        PrivacyError,
        VaultError,
        FinanceError,
        MissingDocumentError,
        BuildBlocked,
    ) as error:
        notes.append(f"What is damaged could not be rebuilt: {error}")
    if is_lost:
        notes.append(_refill(settings))
    return notes


def _derived(settings: Settings, progress: Progress | None, kind: RunKind) -> list[str]:
    """Rebuild a warehouse that is damaged or of another version, and publish a damaged release again."""
    notes: list[str] = []
    release = current_release(settings.data_dir / "published")
    by_times = kind == WEBHOOKS
    is_release_damaged = bool(release and (damaged_files(release, by_times=by_times) or unreadable(release / DATABASE)))
    if not warehouse_file(settings.data_dir).exists() and not release:
        return notes
    if why := _must_be_rebuilt(settings):
        result = build_and_record(settings, progress=progress)
        notes += result.notes or (f"{why}; all tables were rebuilt from raw.",)
        is_release_damaged = True  # what follows reads the release: it must be of this version
    if is_release_damaged:
        notes += publish(settings).notes
    return notes


def _must_be_rebuilt(settings: Settings) -> str:
    """Return why the warehouse must be rebuilt before anything reads it; "" where it need not."""
    file = warehouse_file(settings.data_dir)
    if not file.exists():
        return "The warehouse file was missing"
    try:
        with duckdb.connect(":memory:") as con, attached(con, file):
            memory = remembered(con)
    except NotOpenedError:
        return ""  # the build says so if it still is
    except duckdb.Error as error:
        return f"The warehouse file was damaged ({short(error)})"
    if memory is None:
        return "The warehouse was built by another version"
    now = fingerprint_of(settings)
    changed = [name for name in now if name != "the settings" and memory.fingerprint.get(name) != now[name]]
    return f"The warehouse was built by another version ({' and '.join(changed)} changed)" if changed else ""


def damage_of(path: Path) -> str:
    """Return why SQLite cannot read a file; "" where it can, or there is none, or it is only locked."""
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return ""  # locked, or the disk is full: not damaged
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else str(found)


def set_aside(path: Path) -> Path:
    """Rename a damaged file or folder, and return its new path."""
    return path.rename(path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%S}"))


def _set_work_list_aside(path: Path, notes: list[str]) -> bool:
    """Rename a work list that SQLite cannot read, and say what went with it; tell whether it was."""
    if not (found := damage_of(path)):
        return False
    target = set_aside(path)
    for left in (path.with_name(path.name + end) for end in ("-wal", "-shm")):
        left.unlink(missing_ok=True)
    notes.append(
        f"The work list was damaged ({found}) and set aside as {target}. Lost with it: ids that were asked for and not "
        "fetched yet, the log of webhooks. Give files of order ids again."
    )
    return True


def _refill(settings: Settings) -> str:
    """Put the ids that the warehouse knows to be unfetched, or refused last time, on a new work list."""
    file = warehouse_file(settings.data_dir)
    added = 0
    with WorkList(inbox_path(settings.data_dir)) as work:
        if file.exists():
            with session(settings) as con, attached(con, file):
                rows = con.execute(
                    """
                    select kind, id from warehouse.build.states
                    where id is not null and (sha256 is null or last_verdict in ('failed', 'quarantined'))
                    """
                ).fetchall()
            for kind in KINDS:
                added += work.add(kind, [number for name, number in rows if name == kind], why="work list rebuilt")
    return f"A new work list was made from raw: {added} ids are due that failed or were refused last time."


class NothingCameError(Exception):
    """The service stopped the run before anything of it was landed; the message says why."""


def _heal(way: "UnderWay", step: Step) -> None:
    check_before_run(way.settings)
    found = mend(way.settings, seconds=way.settings.verify.read_seconds if way.run.kind == NIGHT else 0)
    step.said += [*(damage.sentence() for damage in found.damages), *([f"{found.overdue}."] if found.overdue else [])]
    step.shortfalls += [damage.sentence() for damage in found.damages if not damage.is_mended]
    if stopping := [damage.sentence() for damage in found.damages if damage.stops]:
        raise DamageError(" ".join(stopping))
    step.said += heal(way.settings, way.progress, kind=way.run.kind, resumes=way.run.resumes)


def _fetch(way: "UnderWay", step: Step) -> None:
    kind = cast("Kind", step.name)
    asked, since = way.asked, way.run.resumes
    sample: tuple[int, ...] = ()

    def request(work: WorkList) -> None:
        nonlocal sample
        if kind == "menus":
            loop.add_requested(work, menu_ids_file=asked.menu_ids, unless_done_since=since)
        elif kind == "orders":
            loop.add_requested(
                work, order_ids_file=asked.order_ids, order_id_range=asked.order_id_range, unless_done_since=since
            )
            if way.run.kind == NIGHT:
                plan = loop.plan_orders(way.settings, work)
                sample = plan.sample
                step.said.append(plan.sentence())

    lists, most = way.run.kind == NIGHT, None if kind == "orders" else loop.BEFORE_ORDERS
    ingested = loop.ingest(
        way.settings, kind, way.progress, request, lists=lists, session=way.partner, since=since, most=most
    )
    step.asked = ingested.due
    step.counts = {verdict: ingested.counts[verdict] for verdict in sorted(ingested.counts)}
    step.shortfalls = ingested.assess().against
    if ingested.aged:
        step.said.append(
            f"{ingested.aged:,} {kind} were answered from a cache, with what was so before, which replaces nothing "
            "newer. A proxy before the service must let requests with Cache-Control: no-cache pass."
        )
    if ingested.returned:
        step.said.append(
            f"{ingested.returned:,} {kind} came back to an earlier version: a change that was undone, or an old answer "
            "of the service; the versions are in core.order_versions and its like."
        )
    step.is_outage = isinstance(ingested.stopped, ServiceDown)
    if kind == "orders":
        with WorkList(inbox_path(way.settings.data_dir)) as work:
            step.said += loop.report_sample(way.settings, work, sample, ingested.loads)
        _fetch_after_orders(way)


def _fetch_after_orders(way: "UnderWay") -> None:
    """Fetch stores and menus that waited for the orders, and the stores that orders name and the list does not."""
    is_left = any(each.waiting for each in way.partner.ingested)

    def rest(kind: Kind) -> None:
        if is_left:
            one = loop.ingest(
                way.settings, kind, way.progress, lists=False, session=way.partner, since=way.run.resumes, is_rest=True
            )
            _count_with(way, one, one.assess().against)

    rest("stores")
    if unlisted := loop.ingest_unlisted_stores(way.settings, way.partner, way.progress):
        _count_with(way, unlisted, unlisted.shortfalls)
    rest("menus")


def _count_with(way: "UnderWay", ingested: Ingested, shortfalls: list[str]) -> None:
    """Count what was fetched after the orders with the step of its kind."""
    step = next(each for each in way.run.steps if each.name == ingested.kind)
    step.shortfalls = list(dict.fromkeys([*step.shortfalls, *shortfalls]))
    for verdict, count in ingested.counts.items():
        step.counts[verdict] = step.counts.get(verdict, 0) + count


def _build(way: "UnderWay", step: Step) -> None:
    fail_if_nothing_came(way.settings, way.partner)
    try:
        result = build_and_record(way.settings, progress=way.progress)
    except BuildBlocked as blocked:
        _note_checks(way, blocked.checks)
        raise
    way.result = result
    _note_checks(way, result.checks)
    way.run.rows = {name: rows for name, rows in result.rows.items() if name in result.changed_tables}
    way.run.validated = dict(result.validated)
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


def _note_checks(way: "UnderWay", checks: list[CheckResult]) -> None:
    way.checks, way.run.checks = checks, len(checks)
    way.run.failing = [(each.table, each.name, each.violations) for each in checks if each.violations]


def _publish(way: "UnderWay", step: Step) -> None:
    release = publish(way.settings, way.result, run=way.run.kind)
    step.said += release.notes
    way.run.release, way.run.why_kept = release.id, release.why_kept
    way.run.rows |= release.own


def _maintenance(way: "UnderWay", step: Step) -> None:
    for result in run_maintenance(way.settings):
        if result.error:
            step.shortfalls.append(f"{result.task}: {result.error}")
        else:
            step.counts[result.task] = result.items


STEPS: "dict[str, Callable[[UnderWay, Step], None]]" = {"heal": _heal, "stores": _fetch, "menus": _fetch}
STEPS |= {"orders": _fetch, "build": _build, "publish": _publish, "maintenance": _maintenance}


def steps_of(kind: RunKind) -> list[str]:
    """Return the names of the steps of a kind of run."""
    return [name for name in STEPS if kind == NIGHT or name != "maintenance"]
