"""Say in a few lines what a run, a load or a build did.

Reads the release that readers see; prints no personal data, because a release holds none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.report.alarms import alarms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipelines.landing import Backfilled, LoadSummary, Refusal
    from pipelines.settings import Settings
    from pipelines.warehouse import BuildResult, Release

_SHOWN = 20  # refusals in a terminal; all are in audit.quarantine
TRY = (
    """select store_id, store_name, sale_class, currency, sum(order_count) as orders, sum(total_price) as money
    from mart.daily_store_sales group by all order by money desc limit 5""",
    """select product_id, max(ordered_name) as name, sum(unit_count) as units
    from mart.product_mix where sale_class in ('counted', 'unmapped') group by all order by units desc limit 5""",
    """select check_name, count(*) as violations, min(entity_id) as such_as
    from audit.findings group by all order by violations desc""",
)


@dataclass(frozen=True)
class Night:
    """What one run of the job did; `published` where it ended well.

    `landed` is kind → verdict → bodies, `failing` is (table, check, violations), `errors` are sentences.
    """

    published: bool
    run_id: str
    is_new: bool = True  # another release than before; a run that changed nothing leaves the last one
    landed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failing: tuple[tuple[str, str, int], ...] = ()
    checks: int = 0
    errors: tuple[str, ...] = ()
    said: tuple[str, ...] = ()  # of the plan, and what came of it
    undone: tuple[str, ...] = ()  # chores that failed, a sentence each


def current_release(settings: Settings) -> Path | None:
    """Return the folder of the release that readers see, resolved once, or None before the first."""
    current = settings.data_dir / "published" / "current"
    return current.resolve() if current.exists() else None


def refused(settings: Settings) -> set[tuple[Any, ...]]:
    """Return what the current release lists as refused or failed: kind and id, or the place in its load."""
    release = current_release(settings)
    if release is None:
        return set()
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        return set(
            db.execute(
                "select kind, entity_id, if(entity_id is null, load_id || ' ' || seq, null) "
                "from audit.quarantine where is_unresolved"
            ).fetchall()
        )


def summary(settings: Settings, night: Night) -> str:
    """Return the lines that tell what a run did, what it did not, and what to look at next."""
    return "\n".join(_summary(settings, night))


def _summary(settings: Settings, night: Night) -> Iterator[str]:
    release = current_release(settings)
    yield ""
    if night.published:
        yield f"Published {release}" if night.is_new else f"Nothing changed: the last release stands, {release}"
    else:
        yield "FAILED. Nothing was published; " + (
            f"the last release stands: {release}" if release else "there is no release yet."
        )
        for error in night.errors:
            yield f"  {error}"
    for kind, verdicts in night.landed.items():
        counts = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items() if number)
        yield f"  {kind + ':':8} {counts or 'nothing was due'}"
    for table, check, violations in night.failing:
        yield f"  check {table} {check}: {violations:,} rows"
    for sentence in night.said:
        yield f"  {sentence}"
    for chore in night.undone:
        yield f"  chore not done: {chore}"
    if night.published and release is not None:
        yield from _contents(release, night)


def _contents(release: Path, night: Night) -> Iterator[str]:
    file = release / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as db:
        tables = db.execute(
            "select schema_name || '.' || table_name, estimated_size from duckdb_tables() "
            "where estimated_size > 0 order by all"
        ).fetchall()
        yield "Rows (tables without any left out)"
        for schema in ("core", "mart", "audit"):
            rows = [f"{name.split('.')[1]} {size:,}" for name, size in tables if name.startswith(schema + ".")]
            yield f"  {schema + ':':6} " + ", ".join(rows)
        open_refusals = db.execute(
            "select kind, reason, count(*), min(entity_id) from audit.quarantine where is_unresolved "
            "group by all order by all"
        ).fetchall()
        yield f"Refused or failed: {sum(row[2] for row in open_refusals):,} (all in audit.quarantine)"
        for kind, reason, number, first in open_refusals:
            yield f"  {kind} {reason}: {number:,}" + (f", such as {first}" if first is not None else "")
        yield "Money published (sum of total_price, by whether the status counts as a sale)"
        money = db.execute(
            "select coalesce(currency, 'no currency'), sale_class, count(*), sum(total_price) "
            "from mart.orders group by all order by all"
        ).fetchall()
        for currency, sale_class, number, total in money:
            amount = f"{total:,.2f}" if total is not None else "unknown"
            yield f"  {sale_class} {amount} {currency} in {number:,} orders"
        yield from alarms(db, release, is_new=night.is_new)
        findings = db.execute("select count(*) from audit.findings").fetchone()
        warned = findings[0] if findings else 0
    failing = len(night.failing)
    yield f"Checks: {night.checks - failing} passed, {failing} warn ({warned:,} rows in audit.findings)"
    yield "Try next, in `duckdb -readonly FILE`, or in Python duckdb.connect(FILE, read_only=True).sql(QUERY); FILE is"
    yield f"  {file}"
    for query in TRY:
        yield f"  {query};"


def landed(summary: LoadSummary) -> str:
    """Return the lines that tell what became of a load from files."""
    counts = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(summary.counts.items()) if number)
    lines = [f"{summary.kind}: {counts or 'nothing found'} (load {summary.load_id})"]
    return "\n".join([*lines, *_refusals(summary.quarantined)])


def _refusals(refusals: list[Refusal]) -> Iterator[str]:
    for refusal in refusals[:_SHOWN]:
        which = "without id" if refusal.id is None else str(refusal.id)
        yield f"  refused {which}: {refusal.reason} {refusal.pointer or ''}".rstrip()
    if len(refusals) > _SHOWN:
        yield f"  and {len(refusals) - _SHOWN:,} more, all in audit.quarantine after the next build"


def backfilled(done: Backfilled) -> str:
    """Return the lines that tell what became of a long archive."""
    counts = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(done.verdicts.items()) if number)
    lines = [f"{done.kind}: {counts or 'nothing found'}, files: {done.files:,}, loads: {done.loads:,}"]
    if done.loads_before:
        lines.append(f"  landed before, and not again: {done.loads_before:,} of the loads")
    if done.without_menu:
        lines.append(
            f"  of a time at which no menu of their store was observed: {done.without_menu:,} orders; what their "
            "products cost on the menu then is not known"
        )
    lines += _refusals(done.refusals)
    lines.append("  nothing of it is queued for fetching; `ordermart build` makes the tables")
    return "\n".join(lines)


def built(result: BuildResult, release: Release) -> str:
    """Return the lines that tell what a build made and where the release is."""
    rows = ", ".join(f"{table} {number:,}" for table, number in sorted(result.rows.items()))
    failing = [check for check in result.checks if check.violations]
    lines = [
        *result.notes,
        *release.notes,
        result.why,
        rows,
        f"Checks: {len(result.checks) - len(failing)} passed, {len(failing)} warn",
    ]
    lines += [f"  {check.table} {check.name}: {check.violations:,} rows" for check in failing]
    lines.append(f"Release: {release.path}")
    return "\n".join(lines)
