"""Say what commands did: runs, loads, builds, backups, differences of releases, verifications, erasures, the inbox.

The summary of a run has schema drift and silent stores, too; it reads the current release, which has no personal data.
Control characters of personal data are escaped, so that they never reach a terminal; a delivery is shown without its
body.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.inbox.store import StoredDelivery, WorkListEntry, inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.record import Run, current_release, release_before
from pipelines.report.text import counted, moment
from pipelines.settings import Settings
from pipelines.settings.setting_tables import Sales

if TYPE_CHECKING:
    import duckdb

    from pipelines.backup import BackedUp, Restored
    from pipelines.landing.archives import Backfilled
    from pipelines.landing.raw_rows import LoadSummary, Refusal
    from pipelines.privacy import Erasure, Facts
    from pipelines.vault.bodies import Rotated
    from pipelines.warehouse.release.release import Release
    from pipelines.warehouse.release.release_diff import Diff
    from pipelines.warehouse.rows.fresh_rows import BuildResult
    from pipelines.warehouse.rows.session import Profile
    from pipelines.warehouse.verify import Verification

_CHANGED = 8  # tables that a build names
_SHOWN = 20  # rejected documents in a terminal; audit.quarantine has all
_LISTED = 10  # of each in a terminal
_TOTALS = 4
_ENOUGH = 20  # orders, of which some should be testable
_NEW = """
    select kind, path, change_type, value, example_ids from audit.schema_drift
    where load_id > ? order by kind desc, path, change_type, value
"""
_SILENT = """
    select silences.store_id, stores.name, inactive_from_date, day_count, expected_order_count
    from audit.inactive_periods as silences left join core.stores as stores using (store_id)
    where is_ongoing order by expected_order_count desc, store_id
"""
_MB = 10**6
_COSTLIEST = 25
_SECOND = 10**9  # in nanoseconds
_MIB = 1 << 20


def summary(settings: Settings, run: Run, *, is_verbose: bool = False) -> Iterator[str]:
    """Yield the summary of a run: fifteen lines at most when all is well, unless verbose; else also its notes."""
    release = current_release(settings.data_dir / "published")
    yield ""
    if run.did_all_steps:
        yield f"Published {release}" if run.is_new else _kept(run.why_kept, release)
    else:
        yield "FAILED. Nothing was published; " + (
            f"the previous release stays current: {release}" if release else "there is no release yet."
        )
        yield from (f"  {error}" for error in run.errors)
    for kind, verdicts in run.landed.items():
        yield f"  {kind + ':':8} {_verdicts(verdicts) or 'nothing was due'}"
    for kind, sentences in run.incomplete.items():
        yield from (f"  {kind} are not up to date: {sentence}" for sentence in sentences)
    yield from (f"  Settings look wrong: {sentence}" for sentence in run.doubts)
    yield from waiting(settings.data_dir)
    for table, check, violations in run.failing:
        yield f"  check {table} {check}: {counted(violations, 'row', 'rows')}"
    is_well = run.did_all_steps and not (run.newly_refused or run.incomplete or run.damaged or run.undone)
    yield from (f"  {sentence}" for sentence in (run.notes if is_verbose or not is_well else run.mended))
    yield from (f"  maintenance task failed: {task}" for task in run.undone)
    if run.did_all_steps and release is not None:
        yield from _contents(settings, release, run, is_verbose=is_verbose)


def _kept(why: str, release: Path | None) -> str:
    """Return that nothing was published, and why, if that was recorded."""
    return f"Published nothing: {f'{why}; ' if why else ''}the current release is still {release}"


def _contents(settings: Settings, release: Path, run: Run, *, is_verbose: bool) -> Iterator[str]:
    import duckdb  # noqa: PLC0415 -- slow: most commands need none

    from pipelines.finance.released import money  # noqa: PLC0415 -- the same
    from pipelines.warehouse.release.manifest import read_manifest  # noqa: PLC0415 -- the same

    file = release / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as db:
        manifest = read_manifest(release) if is_verbose else None
        tables = sorted((name, rows) for name, rows in manifest.rows.items() if rows) if manifest else []
        if tables:
            yield "Rows (empty tables omitted)"
        for schema in ("core", "mart", "audit", "workings") if tables else ():
            rows = [f"{name.split('.')[1]} {size:,}" for name, size in tables if name.startswith(schema + ".")]
            yield f"  {schema + ':':9} " + ", ".join(rows)
        select = "select kind, reason, count(*), min(entity_id) from audit.quarantine"
        unresolved = db.execute(f"{select} where is_unresolved group by all order by all").fetchall()
        yield f"Rejected or failed: {sum(row[2] for row in unresolved):,} (see audit.quarantine)"
        for kind, reason, number, first in unresolved:
            yield f"  {kind} {reason}: {number:,}" + (f", e.g. {first}" if first is not None else "")
        yield "Published total_price, by currency and sale class"
        select = "select coalesce(currency, 'no currency'), sale_class, count(*), count(total_price), sum(total_price)"
        totals = db.execute(f"{select} from mart.orders group by all order by all").fetchall()
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
        yield from untestable(db)
        yield from _own(db)
    failing = len(run.failing)
    yield f"Checks: {run.checks - failing} passed, {failing} with warnings ({warned:,} rows in audit.findings)"
    if is_verbose:
        yield f"Validated by Pandera: {run.validations}"
        yield f"Example queries: `duckdb -readonly {file} 'from meta.examples'`"


def untestable(db: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Yield how few orders of a release can be tested, if most cannot."""
    verdicts = "select count(*) filter (verdict <> 'indeterminate'), count(*) from mart.order_reconciliation"
    testable, orders = db.execute(verdicts).fetchone() or (0, 0)
    if orders >= _ENOUGH and 2 * testable < orders:
        yield f"{testable:,} of {orders:,} orders can be tested: see `ordermart questions`, and docs/FINANCE.md"


def _unnamed(db: duckdb.DuckDBPyConnection, sales: Sales) -> Iterator[str]:
    """Yield which settings would name sales and currencies, while no order has them."""
    select = "select count(*), count(*) filter (sale_class = 'unmapped'), count(*) filter (currency is null)"
    found = db.execute(f"{select} from mart.orders").fetchone()
    orders, unmapped, unlabelled = found or (0, 0, 0)
    if orders and unmapped == orders:
        from pipelines.report.status import STATUSES, named  # noqa: PLC0415 -- slow: seldom needed

        what = "No status counts as a sale: name them in [sales] counted_statuses, excluded_statuses"
        if sales.counted_statuses or sales.excluded_statuses:
            what = "None of the statuses in [sales] counted_statuses and excluded_statuses occurs"
        yield f"{what}. Seen: {named(db.execute(STATUSES).fetchall())}"
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
    validated = counted(sum(result.validated.values()), "fresh row was", "fresh rows were")
    yield f"{validated} validated by {counted(len(result.validated), 'schema', 'schemas')}"
    yield from (f"  {check.table} {check.name}: {counted(check.violations, 'row', 'rows')}" for check in failing)
    import duckdb  # noqa: PLC0415 -- slow: most commands need none

    with duckdb.connect(str(release.path / "ordermart.duckdb"), read_only=True) as db:
        yield from _own(db)
    yield _kept(release.why_kept, release.path) if release.why_kept else f"Release: {release.path}"


def _own(db: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Yield how many own tables a release has, and what is wrong with others, by file; nothing without models."""
    rows = db.execute("select model_name, problem, warnings from meta.models order by all").fetchall()
    if rows:
        wrong = sum(row[1] is not None for row in rows)
        yield f"Own tables: {len(rows) - wrong:,} made, {wrong:,} with something wrong, not made"
    for name, problem, warnings in rows:
        for what in ([problem] if problem else []) + [f"warning: {each} rows" for each in warnings]:
            yield f"  {name} ({name.removeprefix('own.')}.sql): {what}"


def drift_and_silence(db: duckdb.DuckDBPyConnection, release: Path, *, is_new: bool) -> Iterator[str]:
    """Yield lines on drift since the previous release and on inactive stores; none if there is nothing to report.

    `db` is this release, opened; `is_new`: this run published it. Drift is reported for a new release only.
    """
    import duckdb  # noqa: PLC0415 -- slow: most commands need none

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
    if silent := db.execute(_SILENT).fetchall():
        yield f"Stores without the usual orders: {len(silent):,} (audit.inactive_periods)"
    for store_id, name, since, days, expected in silent[:_LISTED]:
        yield f"  {store_id} {name or 'without a name'}: since {since}, {days} days, about {expected:.0f} orders missed"
    yield from (f"  and {len(rows) - _LISTED:,} more" for rows in (new, silent) if len(rows) > _LISTED)


def backup_lines(done: BackedUp) -> Iterator[str]:
    """Yield what was backed up, and what was not."""
    copied = f"{done.copied:,} of them copied ({done.bytes / _MB:,.1f} MB), the rest linked"
    yield f"{done.path}: {done.files:,} files, {copied}"
    if done.removed:
        yield f"{done.removed} older backups were removed, as --keep says."
    if not done.is_signed:
        yield "Its manifest is not signed: set the vault's keys; restoring it as it is needs --unsigned."
        yield "Nor were the vault's rows compared with their tally."
    yield "Not in it: the vault's keys, without which personal data are lost, and the settings. Keep copies elsewhere."


def restore_lines(done: Restored) -> Iterator[str]:
    """Yield what was restored, what differs first."""
    found = done.comparison
    yield from (f"DIFFERENT  {sentence}" for sentence in found.different)
    yield from (*done.notes, *done.unopened)
    yield f"Restored from {done.backup}, taken at {done.manifest.taken_at}; published {done.release.path}"
    of = done.manifest.release.id if done.manifest.release else ""
    if found.why_not:
        yield f"Not compared with the release of that time: {found.why_not}."
    elif found.different:
        yield f"{len(found.different)} of {found.tables} tables differ from release {of}: report it, keep the backup."
    else:
        yield f"{found.tables} tables compared with release {of}: every row is the same."
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed after it: {', '.join(found.left_out)}"


def diff_json(found: Diff) -> str:
    """Return the differences as one JSON object; amounts are texts, exact."""
    rows, amounts = found.changes.rows, found.changes.amounts
    said = {"previous_release_id": found.before, "release_id": found.after, "changes": rows, "changed_amounts": amounts}
    return json.dumps(said, default=str)


def diff_lines(found: Diff) -> Iterator[str]:
    """Yield a line per table, store and month with rows that differ, and one below it per amount."""
    yield f"{found.before} → {found.after}"
    if not found.changes.rows:
        yield "No row of core or mart differs."
    amounts: dict[tuple[object, ...], list[str]] = {}
    for each in found.changes.amounts:
        place = each["table_name"], each["store_id"], each["month"]
        was, now = ("null" if each[name] is None else str(each[name]) for name in ("previous_amount", "current_amount"))
        amounts.setdefault(place, []).append(f"    {each['column_name']}: {was} → {now}")
    for each in found.changes.rows:
        place = each["table_name"], each["store_id"], each["month"]
        store = "" if each["store_id"] is None else f", store {each['store_id']}"
        month = "" if each["month"] is None else f", {each['month']}"
        counts = [f"{each[f'{what}_row_count']:,} {what}" for what in ("added", "removed", "changed")]
        yield f"{each['table_name']}{store}{month}: rows {', '.join(counts)}"
        yield from amounts.get(place, [])


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the lines that tell it: the first difference of each table and place, then what was compared."""
    judged = found.assess()
    yield from (f"DIFFERENT  {difference}" for difference in judged.wrong)
    places = "the warehouse and the current release" if found.has_release else "the warehouse"
    became = f"{len(found.differences)} differences" if found.differences else "every row is the same"
    yield f"{found.orders:,} orders in {len(found.tables)} tables rebuilt and compared with {places}: {became}"
    yield from (f"{sentence[0].upper()}{sentence[1:]}." for sentence in judged.unchecked)
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed since the build: {', '.join(sorted(found.left_out))}"
    if found.differences:
        yield "Run `ordermart build --full` to rebuild every table, and report the difference."


def found_facts(facts: Facts) -> Iterator[str]:
    """Yield what an operator sees before a person's data are shown or erased."""
    days = f", from {facts.first_day} to {facts.last_day}" if facts.first_day else ""
    orders, stores = counted(len(facts.order_ids), "order", "orders"), counted(facts.stores, "store", "stores")
    yield f"Found {orders} in {stores}{days}; {counted(facts.bodies, 'quarantined body', 'quarantined bodies')}."
    yield (
        f"In them: {counted(facts.phones, 'phone number', 'phone numbers')}, "
        f"{counted(facts.emails, 'e-mail address', 'e-mail addresses')}, {counted(facts.names, 'name', 'names')}."
    )


def erased(done: Erasure, backups: Sequence[Path], copies: Sequence[str]) -> Iterator[str]:
    """Yield the receipt of an erasure."""
    entry, destroyed = done.entry, done.destroyed
    if entry is not None:
        orders = len(entry.body["order_ids"])
        customers = counted(len(entry.body["customer_sha256"]), "customer", "customers")
        yield f"Erased {counted(orders, 'order', 'orders')} of {customers}."
        yield f"Ledger entry {entry.no} of {entry.at}, hash {entry.sha256}"
    what = f"Destroyed: the keys and lookup hashes, {destroyed.versions:,} encrypted versions"
    yield f"{what}, {destroyed.quarantined:,} quarantined bodies. Raw files rewritten: {done.rewritten:,}."
    if destroyed.unread:
        what = f"STILL HELD  {counted(destroyed.unread, 'quarantined body', 'quarantined bodies')} that cannot be read"
        yield f"{what}: destroyed after [vault] quarantine_retention_days, at most 30."
    if done.build_error:
        yield f"NOT PUBLISHED  the tables could not be rebuilt ({done.build_error}): correct that, then erase again."
    for release in done.removed_releases:
        yield f"Removed release {release.name}, which had the erased orders."
    yield from (f"STILL HELD  release {release} has the erased orders." for release in done.kept_releases)
    yield from done.notes
    for copy in copies:
        yield f"STILL HELD  {copy} has an older release: give `ordermart copy --to …` again. Versioned buckets keep it."
    yield from (f"STILL HELD  backup {backup} has the encrypted data: remove it." for backup in backups)
    yield "Not covered: copies of the data folder or of releases that were made by other means, and new orders."


def rotated(done: Rotated, file: Path) -> Iterator[str]:
    """Yield what a rotation changed, and what to set now."""
    if done.is_new:
        yield f"Wrapped the keys of {done.customers:,} customers again, and rekeyed {done.versions:,} versions."
    else:
        yield "The vault has these keys already."
    yield f"Set [vault] key_file to {file}, or ORDERMART_VAULT__… to the values in it; restart the webhook receiver."
    yield "Keep a copy of the new keys elsewhere. Backups taken before need the old ones: keep those as long."


def as_json(value: Any) -> str:
    """Return plain values as indented JSON in ASCII; exact decimals are texts."""
    return json.dumps(value, indent=2, sort_keys=True, default=str)


def costs(profile: Profile) -> Iterator[str]:
    """Yield a table of the steps that took most processor time, and where the process used most memory."""
    ordered = sorted(profile.items(), key=lambda item: -item[1].cpu_ns)
    whole = sum(cost.cpu_ns for _, cost in ordered) or 1
    yield f"{'seconds':>9}{'CPU':>9}{'share':>7}{'peak MiB':>10}  table, or check of a table"
    rest = [cost for _, cost in ordered[_COSTLIEST:]]
    rows = [(name, cost.clock_ns, cost.cpu_ns, cost.peak) for name, cost in ordered[:_COSTLIEST]]
    if rest:
        clock, cpu = sum(cost.clock_ns for cost in rest), sum(cost.cpu_ns for cost in rest)
        rows.append((f"{len(rest)} others", clock, cpu, max(cost.peak for cost in rest)))
    for name, clock, cpu, peak in rows:
        yield f"{clock / _SECOND:9.2f}{cpu / _SECOND:9.2f}{cpu / whole:7.1%}{peak / _MIB:10,.0f}  {name}"
    if ordered:
        name, most = max(ordered, key=lambda item: item[1].peak)
        yield f"Most memory: {most.peak / _MIB:,.0f} MiB, in {name}"


def undecodable_list(deliveries: Iterable[StoredDelivery]) -> Iterator[str]:
    """Yield a line for each undecodable delivery, and what to do about them."""
    found = list(deliveries)
    for delivery in found:
        kept = "body kept in the vault" if delivery.vault_ref else "body not kept"
        yield (
            f"{delivery.seq}  {moment(delivery.received_at)}  {delivery.undecodable}; "
            f"topic {delivery.topic or 'unknown'}, delivery {delivery.delivery_id or 'without an id'}, "
            f"{delivery.size:,} bytes, {kept}"
        )
    if found:
        what = counted(len(found), "undecodable delivery", "undecodable deliveries")
        fix = "Correct [webhooks] topic_locations and id_locations, then run `ordermart webhooks reprocess`."
        yield f"{what}. {fix}"
    else:
        yield "There are no undecodable deliveries."


def reprocessed(decoded: int, undecoded: int) -> str:
    """Return the sentence about reprocessed deliveries."""
    if not decoded and not undecoded:
        return "There are no undecodable deliveries to reprocess."
    return f"{decoded:,} decoded and put on the work list; {undecoded:,} still undecodable."


def retried(letters: list[WorkListEntry], *, is_forgotten: bool = False) -> Iterator[str]:
    """Yield lines on retried or forgotten entries: how many of each kind and reason."""
    if not letters:
        yield f"Nothing to {'forget' if is_forgotten else 'retry'}."
        return
    ids = defaultdict(list)
    for letter in letters:
        ids[letter.kind, letter.reason or "no reason recorded"].append(letter.id)
    for (kind, reason), failed in sorted(ids.items()):
        yield f"  {kind}: {len(failed):,}, such as {failed[0]}, failed: {reason}"
    due = counted(len(letters), "id is", "ids are")
    if is_forgotten:
        yield f"{due} no longer on the work list."
        return
    yield f"{due} due again: the next `ordermart run` requests what was in the queue."


def waiting(data_dir: Path) -> Iterator[str]:
    """Yield lines on ids that wait after a rejection or failure, and on the dead-letter queue, if there are any."""
    path = inbox_path(data_dir)
    if not path.exists():
        return
    with WorkList(path) as work:
        rejected = work.rejected_counts()
        dead = {kind: states["dead"] for kind, states in work.counts().items() if "dead" in states}
    if rejected:
        yield f"  waiting after a rejection or failure: {_listed(rejected)}; they are requested again on later days"
    if dead:
        yield f"  in the dead-letter queue: {_listed(dead)}; `ordermart retry` requests them again"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
