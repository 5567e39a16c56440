"""Facts of a release for the morning page: sales, coverage, quarantine, schema drift and checks.

Names of stores and of fields are shown; values of documents never are.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import NOT_STATED
from pipelines.finance.released import records
from pipelines.warehouse.catalogue import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pipelines.finance.released import Released

DAYS = 28
_EARLIER = dt.timedelta(days=DAYS)
_COMPARABLE = 21  # days before that need orders for a comparison
_STORES = 30
_OPEN = "failed_count + quarantined_count + unrequested_count"
_LAST = "select max(business_date) from mart.daily_store_sales where business_date <= ?"
# Until settings name the statuses that are sales, everything that was not deleted is shown.
_CLASSES = "select if(count(*) filter (sale_class = 'counted') > 0, 'counted', '') from mart.daily_store_sales"
_SALES = """
    select currency, business_date, sum(order_count) as order_count, sum(total_price) as total_price
    from mart.daily_store_sales
    where sale_class <> 'deleted' and (? = '' or sale_class = ?)
        and business_date between ? and ?
    group by currency, business_date order by business_date
"""
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
_NOWHERE = f"select coalesce(sum({_OPEN}), 0) from audit.coverage where store_id is null or business_date is null"
_QUARANTINE = """
    select kind, reason, count(*) as number, min(entity_id) as example, max(last_seen_at) as last_seen_at
    from audit.quarantine where is_unresolved group by kind, reason order by number desc, kind, reason
"""
_DRIFT = """
    select kind, path, change_type, first_seen_at, example_ids[1] as example
    from audit.schema_drift order by first_seen_at desc nulls last, kind, path, change_type
"""
_EXAMPLES = "select check_name, min(entity_id) from audit.findings group by check_name"
_ORDERS = "select count(*) as orders, count(distinct store_id) as stores, min(business_date) as since from mart.orders"


def released_facts(opened: Released) -> dict[str, Any]:
    """Return the facts of each section by its name; all but `sales` and `coverage` say nothing of days."""
    db = opened.con
    published = dt.datetime.fromisoformat(opened.manifest.published_at).date()
    last = (db.execute(_LAST, [published + dt.timedelta(days=1)]).fetchone() or (None,))[0]  # none of the future
    window = [last - dt.timedelta(days=DAYS - 1 - number) for number in range(DAYS)] if last else []
    return {
        "window": window,
        "sales": _sales(db, window),
        "coverage": _coverage(db, window),
        "quarantine": records(db, _QUARANTINE),
        "drift": records(db, _DRIFT),
        "checks": _checks(db, opened.manifest.checks),
        "warehouse": records(db, _ORDERS)[0],
    }


def _sales(db: duckdb.DuckDBPyConnection, window: list[dt.date]) -> dict[str, Any]:
    """Return whether statuses count as sales, and each currency with its days, the one of most orders first."""
    if not window:
        return {"is_counted": True, "currencies": []}
    counted = (db.execute(_CLASSES).fetchone() or ("",))[0]
    found: dict[str | None, dict[dt.date, Any]] = {}
    for row in records(db, _SALES, [counted, counted, window[0] - _EARLIER, window[-1]]):
        found.setdefault(row["currency"], {})[row["business_date"]] = row
    ranked = sorted(found.items(), key=lambda item: -sum(day["order_count"] for day in item[1].values()))
    return {"is_counted": bool(counted), "currencies": [_currency(*item, window) for item in ranked]}


def _currency(currency: str | None, days: dict[dt.date, Any], window: list[dt.date]) -> dict[str, Any]:
    nothing = {"order_count": 0, "total_price": None}
    rows = [
        {
            "day": day,
            "order_count": days.get(day, nothing)["order_count"],
            "value": days.get(day, nothing)["total_price"],
            "before": days.get(day - _EARLIER, nothing)["total_price"],
            "colour": "blue",
            "name": f"{day:%-d %b}" if day.weekday() == 0 else "",
            "mark": "",
        }
        for day in window
    ]
    now, before = (sum((row[key] or Decimal(0) for row in rows), Decimal(0)) for key in ("value", "before"))
    known = sum(day - _EARLIER in days for day in window)
    change = f"{known} of the {DAYS} days before have orders"
    if known >= _COMPARABLE and before > 0:
        change = f"{(now - before) / before * 100:+.1f}% on the {DAYS} days before"
    label = currency or f"currency {NOT_STATED}"
    return {"currency": currency, "label": label, "days": rows, "now": now, "before": before, "change": change}


def _coverage(db: duckdb.DuckDBPyConnection, window: list[dt.date]) -> dict[str, Any]:
    """Return the stores, those with open ids first, and a cell for each day of those that are shown."""
    if not window:
        return {"stores": []}
    stores = records(db, _COVERAGE, [window[0], window[-1]])
    shown = [row["store_id"] for row in stores[:_STORES]]
    cells = {
        (row["store_id"], row["business_date"]): row for row in records(db, _CELLS, [window[0], window[-1], shown])
    }
    nothing = {"id_count": 0, "open_count": 0}
    rows = [[cells.get((store, day), nothing) for day in window] for store in shown]
    return {
        "stores": stores,
        "cells": rows,
        "most": max((cell["id_count"] for row in rows for cell in row), default=0),
        "gaps": sum(not cell["id_count"] for row in rows for cell in row),
        "unresolved": sum(row["open_count"] for row in stores),
        "nowhere": (db.execute(_NOWHERE).fetchone() or (0,))[0],
    }


def _checks(db: duckdb.DuckDBPyConnection, violations: Mapping[str, int]) -> dict[str, Any]:
    """Return the checks that warn, those with most violations first; `violations` is the manifest's."""
    claims = {check.name: check.claim for check in checks()}
    examples = dict(db.execute(_EXAMPLES).fetchall())
    failing = sorted(((name, n) for name, n in violations.items() if n), key=lambda item: (-item[1], item[0]))
    return {
        "passed": len(violations) - len(failing),
        "failing": [(claims.get(name, name), number, examples.get(name)) for name, number in failing],
    }
