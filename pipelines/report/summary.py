"""Summarise a run, a load or a build in a few lines, with schema drift, silent stores and settings that look wrong.

Reads the current release, which has no personal data.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.finance.released import money
from pipelines.literals import one_line as plain
from pipelines.record import current_release, release_before
from pipelines.report.outcomes import waiting
from pipelines.report.text import counted
from pipelines.settings import given_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.landing import Backfilled, LoadSummary, Refusal
    from pipelines.record import Run
    from pipelines.settings import Settings
    from pipelines.settings.tables import Sales
    from pipelines.warehouse import BuildResult, Release

_CHANGED = 8  # tables that a build names
_SHOWN = 20  # rejected documents in a terminal; audit.quarantine has all
TRY = (
    """select store_id, store_name, sale_class, currency, sum(order_count) as order_count,
    sum(total_price) as total_price
    from mart.daily_store_sales group by store_id, store_name, sale_class, currency
    qualify row_number() over (partition by currency order by sum(total_price) desc) <= 5
    order by currency, total_price desc""",
    """select product_id, max(ordered_name) as name, sum(unit_count) as unit_count
    from mart.product_mix where sale_class in ('counted', 'unmapped') group by all order by unit_count desc limit 5""",
    """select check_name, count(*) as violations, min(entity_id) as example_id
    from audit.findings group by all order by violations desc""",
)
_LISTED = 10  # of each in a terminal
_TOTALS = 4
_NEW = """
    select kind, path, change_type, value, example_ids from audit.schema_drift
    where load_id > ? order by kind desc, path, change_type, value
"""
_SILENT = """
    select silences.store_id, stores.name, inactive_from_date, day_count, expected_order_count
    from audit.inactive_periods as silences left join core.stores as stores using (store_id)
    where is_ongoing order by expected_order_count desc, store_id
"""


@contextmanager
def kept_open(settings: Settings) -> Iterator[None]:
    """Keep the file of the current release open: to open it once more then costs next to nothing."""
    release = current_release(settings.data_dir / "published")
    with ExitStack() as stack:
        if release is not None:
            with suppress(duckdb.Error):  # its reader names the fault
                stack.enter_context(duckdb.connect(str(release / "ordermart.duckdb"), read_only=True))
        yield


def refused(settings: Settings) -> set[tuple[Any, ...]]:
    """Return the unresolved rows of audit.quarantine: kind and id, or load and sequence number."""
    release = current_release(settings.data_dir / "published")
    if release is None:
        return set()
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        return set(
            db.execute(
                "select kind, entity_id, if(entity_id is null, load_id || ' ' || seq, null) "
                "from audit.quarantine where is_unresolved"
            ).fetchall()
        )


def summary(settings: Settings, run: Run, *, is_verbose: bool = False) -> Iterator[str]:
    """Yield the summary of a run: fifteen lines at most when all is well, unless verbose; else also its notes."""
    release = current_release(settings.data_dir / "published")
    yield ""
    if run.is_published:
        yield f"Published {release}" if run.is_new else f"Published nothing: the current release is still {release}"
    else:
        yield "FAILED. Nothing was published; " + (
            f"the previous release stays current: {release}" if release else "there is no release yet."
        )
        for error in run.errors:
            yield f"  {error}"
    for kind, verdicts in run.landed.items():
        yield f"  {kind + ':':8} {_verdicts(verdicts) or 'nothing was due'}"
    for kind, sentences in run.incomplete.items():
        yield from (f"  {kind} are not up to date: {sentence}" for sentence in sentences)
    yield from (f"  Settings look wrong: {sentence}" for sentence in run.doubts)
    yield from waiting(settings.data_dir)
    for table, check, violations in run.failing:
        yield f"  check {table} {check}: {counted(violations, 'row', 'rows')}"
    is_well = run.is_published and not (run.newly_refused or run.incomplete or run.damaged or run.undone)
    for sentence in run.said if is_verbose or not is_well else run.mended:
        yield f"  {sentence}"
    for task in run.undone:
        yield f"  maintenance task failed: {task}"
    if run.is_published and release is not None:
        yield from _contents(settings, release, run, is_verbose=is_verbose)


def _contents(settings: Settings, release: Path, run: Run, *, is_verbose: bool) -> Iterator[str]:
    from pipelines.warehouse.release.manifest import read_manifest  # noqa: PLC0415 - `status` needs no warehouse

    file = release / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as db:
        manifest = read_manifest(release) if is_verbose else None
        tables = sorted((name, rows) for name, rows in manifest.rows.items() if rows) if manifest else []
        if tables:
            yield "Rows (empty tables omitted)"
        for schema in ("core", "mart", "audit") if tables else ():
            rows = [f"{name.split('.')[1]} {size:,}" for name, size in tables if name.startswith(schema + ".")]
            yield f"  {schema + ':':6} " + ", ".join(rows)
        unresolved = db.execute(
            "select kind, reason, count(*), min(entity_id) from audit.quarantine where is_unresolved "
            "group by all order by all"
        ).fetchall()
        yield f"Rejected or failed: {sum(row[2] for row in unresolved):,} (see audit.quarantine)"
        for kind, reason, number, first in unresolved:
            yield f"  {kind} {reason}: {number:,}" + (f", e.g. {first}" if first is not None else "")
        yield "Published total_price, by currency and sale class"
        totals = db.execute(
            "select coalesce(currency, 'no currency'), sale_class, count(*), count(total_price), sum(total_price) "
            "from mart.orders group by all order by all"
        ).fetchall()
        for currency, sale_class, number, priced, total in totals if is_verbose else totals[:_TOTALS]:
            amount = money(total, currency) if total is not None else "unknown"
            of_all = "" if priced == number else f"{priced:,} of "
            yield f"  {sale_class} {amount} {currency} in {of_all}{counted(number, 'order', 'orders')}"
        if len(totals) > _TOTALS and not is_verbose:
            yield f"  and {len(totals) - _TOTALS:,} more, with --verbose"
        yield from _unnamed(db, settings.sales)
        yield from drift_and_silence(db, release, is_new=run.is_new)
        findings = db.execute("select count(*) from audit.findings").fetchone()
        warned = findings[0] if findings else 0
    failing = len(run.failing)
    yield f"Checks: {run.checks - failing} passed, {failing} with warnings ({warned:,} rows in audit.findings)"
    if not is_verbose:
        return
    yield "Try next in `duckdb -readonly FILE`, or in Python duckdb.connect(FILE, read_only=True).sql(QUERY); FILE is"
    yield f"  {file}"
    for query in TRY:
        yield f"  {query};"


def _unnamed(db: duckdb.DuckDBPyConnection, sales: Sales) -> Iterator[str]:
    """Yield which settings would name sales and currencies, while no order has them."""
    found = db.execute(
        "select count(*), count(*) filter (sale_class = 'unmapped'), count(*) filter (currency is null) "
        "from mart.orders"
    ).fetchone()
    orders, unmapped, unlabelled = found or (0, 0, 0)
    if orders and unmapped == orders:
        statuses = db.execute("select status, count(*) as n from mart.orders group by 1 order by n desc, 1 limit 8")
        named = ", ".join(f"{plain(status or 'none')} {number:,}" for status, number in statuses.fetchall())
        yield (
            f"None of the statuses in [sales] counted_statuses and excluded_statuses occurs. Seen: {named}"
            if sales.counted_statuses or sales.excluded_statuses
            else f"No status counts as a sale: name them in [sales] counted_statuses, excluded_statuses. Seen: {named}"
        )
    if unlabelled:
        orders = counted(unlabelled, "order has", "orders have")
        yield f"{orders} no currency: set [partner.store] currency_pointer, or [finance] currency"


def landed(summary: LoadSummary) -> Iterator[str]:
    """Yield the summary of a load from files."""
    yield f"{summary.kind}: {_verdicts(summary.counts) or 'nothing found'} (load {summary.load_id})"
    yield from _rejections(summary.quarantined)


def _verdicts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(counts.items()) if number)


def _rejections(rejections: list[Refusal]) -> Iterator[str]:
    for rejection in rejections[:_SHOWN]:
        why = f"{rejection.reason} {rejection.pointer or ''}".rstrip()
        if rejection.reason == "no_id" and rejection.id is None:
            why = f"no id at {rejection.pointer}"
        which = "without id" if rejection.id is None else str(rejection.id)
        yield f"  {rejection.file + ': ' if rejection.file else ''}rejected {which}: {why}"
    if len(rejections) > _SHOWN:
        yield f"  and {len(rejections) - _SHOWN:,} more; audit.quarantine lists all after the next build"


def backfilled(done: Backfilled) -> Iterator[str]:
    """Yield the summary of a backfill."""
    counts = _verdicts(done.verdicts) or "nothing found"
    yield f"{done.kind}: {counts}, files: {done.files:,}, loads: {done.loads:,}"
    if done.loads_before:
        yield f"  already landed, skipped: {done.loads_before:,} of the loads"
    if done.without_menu:
        orders = f"{done.without_menu:,} orders; their menu prices are unknown"
        yield f"  placed before any menu of their store was observed: {orders}"
    yield from _rejections(done.refusals)
    yield "  nothing was queued for fetching; run `ordermart build` to build the tables"


def built(result: BuildResult, release: Release) -> Iterator[str]:
    """Yield the summary of a build: the tables that changed, checks and the release."""
    changed = result.changed_tables
    largest = sorted((table for table in changed if result.rows.get(table)), key=lambda name: -result.rows[name])
    names = ", ".join(f"{table} {result.rows[table]:,}" for table in largest[:_CHANGED])
    yield result.why
    yield f"{len(changed):,} of {len(result.rows):,} tables changed" + (f", such as {names}" if names else "")
    failing = [check for check in result.checks if check.violations]
    yield f"Checks: {len(result.checks) - len(failing)} passed, {len(failing)} with warnings"
    yield from (f"  {check.table} {check.name}: {counted(check.violations, 'row', 'rows')}" for check in failing)
    yield f"Release: {release.path}"


def drift_and_silence(db: duckdb.DuckDBPyConnection, release: Path, *, is_new: bool) -> Iterator[str]:
    """Yield lines on drift since the previous release and on inactive stores; none if there is nothing to report.

    `db` is this release, opened; `is_new`: this run published it. Drift is reported for a new release only.
    """
    new = []
    if is_new and (before := release_before(release)):
        with duckdb.connect(str(before / "ordermart.duckdb"), read_only=True) as earlier:
            known = earlier.execute("select max(load_id) from audit.loads").fetchone()
        new = db.execute(_NEW, known).fetchall() if known and known[0] else []
    if new:
        yield f"Schema drift since the previous release: {len(new):,} (audit.schema_drift)"
    for kind, path, what, value, ids in new[:_LISTED]:
        first = f", first in {', '.join(map(str, ids))}" if ids else ""
        yield f"  {kind} {path}: {what}{'' if value is None else ' ' + repr(value)}{first}"
    silent = db.execute(_SILENT).fetchall()
    if silent:
        yield f"Stores without the usual orders: {len(silent):,} (audit.inactive_periods)"
    for store_id, name, since, days, expected in silent[:_LISTED]:
        yield f"  {store_id} {name or 'without a name'}: since {since}, {days} days, about {expected:.0f} orders missed"
    for rows in (new, silent):
        if len(rows) > _LISTED:
            yield f"  and {len(rows) - _LISTED:,} more"


_FEWEST_ORDERS = 20  # that show which statuses there are
_STATUSES = "select status, count(*) as n from mart.orders group by 1 order by n desc, 1"
_MOST_KEYS = 8


def lost_keys(settings: Settings, earlier: Iterable[Run]) -> Iterator[str]:
    """Yield a sentence if the settings file lost keys since the last good run that is remembered."""
    good = [run.keys for run in earlier if run.verdict == "good"]
    lost = sorted(set(good[-1]) - given_keys(settings.file)) if good else []
    if lost := [_shown(key) for key in lost if _is_known(settings, key)]:
        keys = ", ".join(lost[:_MOST_KEYS]) + (", …" if len(lost) > _MOST_KEYS else "")
        yield (
            f"{settings.file.name} lacks {counted(len(lost), 'key', 'keys')} of the last good run: {keys}. Was it cut "
            "off? Write them again, with their defaults of ordermart.toml if they are meant to go"
        )


def _is_known(settings: Settings, key: str) -> bool:
    """Tell whether there is such a setting: a release may have given it up."""
    found: Any = settings
    for part in key.split("."):
        found = getattr(found, part, None)
    return found is not None


def _shown(key: str) -> str:
    *tables, name = key.split(".")
    return f"[{'.'.join(tables)}] {name}"


def unused_statuses(settings: Settings) -> Iterator[str]:
    """Yield a sentence if no order of the release has a status that counts as a sale, though some are named."""
    release = current_release(settings.data_dir / "published")
    if release is None or not settings.sales.counted_statuses:
        return
    try:
        with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
            seen = db.execute(_STATUSES).fetchall()
    except duckdb.Error:
        return  # its reader names the fault
    is_enough = sum(number for _, number in seen) >= _FEWEST_ORDERS
    if is_enough and {status for status, _ in seen}.isdisjoint(settings.sales.counted_statuses):
        yield f"no order has a status of [sales] counted_statuses; orders have {named(seen)}"


def named(seen: Sequence[tuple[str | None, int]]) -> str:
    """Return statuses with their numbers of orders, the most frequent first."""
    return ", ".join(f"{plain(status or 'none')} {number:,}" for status, number in seen[:_MOST_KEYS])
