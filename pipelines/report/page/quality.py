"""The sections about what was fetched and how good it is: coverage, quarantine, schema drift, checks.

Names of stores and of fields are shown, escaped; values of documents never are. Knows nothing of runs.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records
from pipelines.report.page.markup import Chart, Section, Table, paragraph
from pipelines.report.page.sales import DAYS
from pipelines.report.text import counted, fitted, plain
from pipelines.warehouse.catalogue import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

_STORES = 30
_ROWS = 12
_NAME = 16  # columns of a store's name beside the heat map
_OPEN = "failed_count + quarantined_count + unrequested_count"
_COVERAGE = f"""
    select store_id, any_value(stores.name) as name, sum(id_count) as id_count, sum({_OPEN}) as open_count,
        count(*) filter (id_count > 0) as day_count, min(completeness) as completeness
    from audit.coverage left join core.stores as stores using (store_id)
    where business_date between ? and ? and store_id is not null
    group by store_id order by open_count desc, id_count desc, store_id
"""
_CELLS = f"""
    select store_id, business_date, id_count, {_OPEN} as open_count from audit.coverage
    where business_date between ? and ? and store_id in (select unnest(?::bigint[])) order by all
"""
_NOWHERE = f"select sum({_OPEN}) from audit.coverage where store_id is null or business_date is null"
_QUARANTINE = """
    select kind, reason, count(*) as number, min(entity_id) as example, max(last_seen_at) as last_seen_at
    from audit.quarantine where is_unresolved group by kind, reason order by number desc, kind, reason
"""
_DRIFT = """
    select kind, path, change_type, first_seen_at, example_ids[1] as example
    from audit.schema_drift order by first_seen_at desc nulls last, kind, path, change_type
"""
_EXAMPLES = "select check_name, min(entity_id) from audit.findings group by check_name"


def coverage_section(db: duckdb.DuckDBPyConnection, last: dt.date | None) -> Section:
    """Return a heat map of order ids by store and day; stores with open ids first."""
    if last is None:
        return Section("coverage", "Coverage", (paragraph("No order has a business day yet.", "soft"),))
    window = [last - dt.timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    stores = records(db, _COVERAGE, [window[0], last])
    shown = stores[:_STORES]
    names = {row["store_id"]: f"{fitted(plain(row['name'] or 'store'), _NAME).strip()} {row['store_id']}"
             for row in shown}  # fmt: skip
    found = records(db, _CELLS, [window[0], last, list(names)])
    cells = {(row["store_id"], row["business_date"]): row for row in found}
    nothing: dict[str, Any] = {"id_count": 0, "open_count": 0}
    rows = [
        {"store": name, "day": day.isoformat(), "ids": cell["id_count"], "open": cell["open_count"]}
        for store, name in names.items()
        for day in window
        for cell in [cells.get((store, day), nothing)]
    ]
    most = max((row["ids"] for row in rows), default=0)
    gaps = sum(not row["ids"] for row in rows)
    unresolved = sum(row["open_count"] for row in stores)
    nowhere = (db.execute(_NOWHERE).fetchone() or (0,))[0] or 0
    description = (
        f"Heat map of {len(shown)} of {counted(len(stores), 'store', 'stores')} by {DAYS} days up to {last}: up to "
        f"{most:,} order ids a day, {gaps:,} store-days without any, {unresolved:,} ids open."
    )
    legend = [("scale", f"1 to {most:,} order ids"), ("red", "ids not up to date")]
    chart = Chart("coverage", "coverage", "Order ids by store and business day", description, rows, legend)
    table = Table(
        "By store",
        ("store", "name", "days with orders", "order ids", "open", "completeness"),
        [
            (
                row["store_id"],
                row["name"],
                row["day_count"],
                f"{row['id_count']:,}",
                f"{row['open_count']:,}",
                "unknown" if row["completeness"] is None else f"{row['completeness']:.1%}",
            )
            for row in stores[:_ROWS]
        ],
        frozenset({0, 2, 3, 4, 5}),
        len(stores),
        "from audit.coverage",
        is_folded=True,
    )
    note = f"{gaps:,} empty cells are store-days without an order. "
    if nowhere:
        note += f"{nowhere:,} rejected or failed ids have no store or day, so they are in no cell: see quarantine."
    return Section("coverage", "Coverage", (chart, paragraph(note, "soft"), table), "warn" if unresolved else "")


def quarantine_section(db: duckdb.DuckDBPyConnection) -> Section:
    """Return what was quarantined or failed and is unresolved, by reason."""
    found = records(db, _QUARANTINE)
    total = sum(row["number"] for row in found)
    shown = found[:_ROWS]
    rows = [{"reason": f"{row['kind']}: {row['reason']}".replace("_", " "), "count": row["number"]} for row in shown]
    description = "; ".join(f"{row['reason']} {row['count']:,}" for row in rows)
    chart = Chart("quarantine", "reasons", "Documents by kind and reason", f"Bars by reason: {description}.", rows)
    table = Table(
        "Unresolved, by reason",
        ("kind", "reason", "count", "example id", "last seen (UTC)"),
        [
            (
                row["kind"],
                row["reason"],
                f"{row['number']:,}",
                row["example"],
                f"{row['last_seen_at']:%Y-%m-%d %H:%M}" if row["last_seen_at"] else "unknown",
            )
            for row in shown
        ],
        frozenset({2, 3}),
        len(found),
        "from audit.quarantine where is_unresolved",
    )
    title = f"Quarantine and failures: {total:,}" if total else "Quarantine and failures"
    return Section("quarantine", title, (chart, table) if found else (table,), "warn" if found else "")


def drift_section(db: duckdb.DuckDBPyConnection) -> Section:
    """Return the latest schema drift, without values."""
    found = records(db, _DRIFT)
    table = Table(
        "Schema drift, newest first",
        ("kind", "field", "change", "first seen (UTC)", "example id"),
        [
            (
                row["kind"],
                row["path"],
                f"new {row['change_type']}" if row["change_type"] in {"field", "type", "value"} else row["change_type"],
                f"{row['first_seen_at']:%Y-%m-%d %H:%M}" if row["first_seen_at"] else "unknown",
                row["example"],
            )
            for row in found[:_ROWS]
        ],
        frozenset({4}),
        len(found),
        "from audit.schema_drift",
    )
    return Section("drift", "Schema drift", (table,))


def checks_section(db: duckdb.DuckDBPyConnection, violations: Mapping[str, int]) -> Section:
    """Return the checks that warn, those with most violations first; `violations` is the manifest's."""
    claims = {check.name: check.claim for check in checks()}
    examples = dict(db.execute(_EXAMPLES).fetchall())
    failing = sorted(((name, n) for name, n in violations.items() if n), key=lambda item: (-item[1], item[0]))
    table = Table(
        f"{len(violations) - len(failing):,} checks passed, {len(failing):,} warn",
        ("claim that does not hold", "rows", "example id"),
        [(claims.get(name, name), f"{number:,}", examples.get(name)) for name, number in failing[:_ROWS]],
        frozenset({1, 2}),
        len(failing),
        "from audit.findings",
    )
    return Section("checks", "Checks", (table,), "warn" if failing else "")
