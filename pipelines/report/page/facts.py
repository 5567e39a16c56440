"""Facts for pages: of a release (sales, coverage, quarantine, schema drift, checks) and of a reconciliation.

Of breaks and restatements the largest are first. Names of stores and of fields are shown; values of documents never
are.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import NOT_STATED, money
from pipelines.finance.reconciliation import UNPOSTED, Record
from pipelines.finance.released import records
from pipelines.landing.charges import CHARGES
from pipelines.report.identities import total_rule
from pipelines.warehouse.catalogue import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pipelines.finance.reconciliation import Reconciliation
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
_CHARTS = 3  # currencies with a waterfall, of the first sale class
_PARTS = {charge.name: charge.label for charge in CHARGES if charge.part_of and charge.name != "subtotal_price"}
# As most totals are made, until orders or settings show the rule.
_SIGNS = {charge.name: charge.sign for charge in CHARGES}
_RULE = """
    select rule from audit.formula_populations where rule_target = 'total' and rule is not null
    order by order_count desc, population_no limit 1
"""
# The largest of each currency first, and of each measure: amounts of two currencies cannot be compared.
_BREAKS = """
    select order_id, business_date, rows.store_id, stores.name as store_name, rows.currency, total_residual,
        subtotal_residual, coalesce(total_likely_cause::varchar, subtotal_likely_cause::varchar) as likely_cause
    from open_breaks as rows left join core.stores as stores using (store_id)
    where {where}
    order by row_number() over (partition by rows.currency order by abs_residual desc, order_id),
        count(*) over (partition by rows.currency) desc, rows.currency nulls last
    limit {most}
"""
_RESTATEMENTS = """
    select order_id, closed_business_date, store_id, currency, measure, closed_amount, restatement_amount, cause
    from mart.restatements as rows where {unposted} and {where}
    order by row_number() over (partition by currency, measure order by abs(restatement_amount) desc, restatement_no),
        count(*) over (partition by currency, measure) desc, currency nulls last, measure
    limit {most}
"""


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


def reconciled_facts(reconciled: Reconciliation, most_breaks: int, most: int) -> dict[str, Any]:
    """Return the facts of each section by its name; at most so many breaks and restatements."""
    where = reconciled.selection.where("closed_business_date")
    return {
        "breaks": largest_breaks(reconciled, most_breaks),
        "break_count": reconciled.variances()["break"],
        **_waterfalls(reconciled),
        "control_totals": reconciled.control_total_variances(),
        "populations": reconciled.populations(),
        "restated_sums": reconciled.unposted_restatements(),
        "restated": records(reconciled.db, _RESTATEMENTS.format(unposted=UNPOSTED, where=where, most=most)),
    }


def largest_breaks(reconciled: Reconciliation, most: int) -> list[Record]:
    """Return the largest open breaks, of each currency in turn."""
    return records(reconciled.db, _BREAKS.format(where=reconciled.selection.where(), most=most))


def urgent_days(reconciled: Reconciliation) -> list[Record]:
    """Return the days: those with most breaks and unposted restatements first, then indeterminate orders, then late."""
    return sorted(reconciled.days(), key=_urgency)


def _urgency(day: Record) -> tuple[Any, ...]:
    date = day["business_date"]
    return (
        -(day["break_count"] + day["unposted_count"]),
        -day["indeterminate_count"],
        -(date.toordinal() if date else 0),
    )


def _waterfalls(reconciled: Reconciliation) -> dict[str, Any]:
    """Return the sums by currency and sale class, and a waterfall for the largest of the first class."""
    signs = _signs(reconciled)
    lines = sorted(
        reconciled.lines(),
        key=lambda line: (line["sale_class"] != "counted", -line["break_count"], -line["order_count"]),
    )
    charted = [line for line in lines if line["sale_class"] == lines[0]["sale_class"]][:_CHARTS]
    return {"lines": lines, "waterfalls": [{**line, "steps": _steps(line, signs)} for line in charted]}


def _steps(line: Mapping[str, Any], signs: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return each step from where the one before ended; sums begin at zero."""
    currency, known = line["currency"], Decimal(0)
    rows: list[dict[str, Any]] = []
    steps = [("line_amount", "lines", 0), ("unallocated_amount", "on no line", 1), ("subtotal_price", "subtotal", 0)]
    for field, name, sign in [*steps, *((field, name, signs[field]) for field, name in _PARTS.items() if signs[field])]:
        amount = line[field]
        if amount is None or (sign and not amount):
            continue
        before, added = (known, sign * amount) if sign else (Decimal(0), amount)
        known = before + added
        rows.append(_step(name, added, before, currency, "" if sign else "soft"))
    total, residual = line["total_price"], line["total_residual"]
    if total is not None:
        residual = residual or Decimal(0)
        rest = total - known - residual  # of orders with another rule or none, or without a part; of components
        if residual:
            rows.append(_step("residual", residual, known, currency, "red"))
        if rest:
            rows.append(_step("rest", rest, known + residual, currency))
        rows.append(_step("total", total, Decimal(0), currency, "soft"))
    return rows


def _step(name: str, amount: Decimal, start: Decimal, currency: str | None, colour: str = "") -> dict[str, Any]:
    return {
        "label": f"{name}  {money(amount, currency, is_signed=colour != 'soft')}",
        "start": start,
        "end": start + amount,
        "colour": colour or ("blue" if amount >= 0 else "orange"),
    }


def _signs(reconciled: Reconciliation) -> Mapping[str, int]:
    """Return the sign of each part in the total of most orders."""
    found = reconciled.db.execute(_RULE).fetchone()
    rule = total_rule(reconciled.db, found[0]) if found else None
    return {**_SIGNS, **(rule.signs if rule else {})}
