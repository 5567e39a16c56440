"""Write the morning page after every run: `published/morning.html`, atomically, and a copy in a new release.

A page that cannot be written fails no run. Of breaks and restatements the largest are first. Names of stores and of
fields are shown; values of documents never are, but for statuses that are words.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import write_whole
from pipelines.finance.reconciliation import UNPOSTED, Reconciliation, Record, reconciliation
from pipelines.finance.released import NOT_STATED, FinanceError, Released, Selection, money, open_release, records
from pipelines.record import NIGHT, WEBHOOKS, Run, current_release, ended_runs
from pipelines.report.identities import RESIDUAL, bridge
from pipelines.report.page import render
from pipelines.report.page.headline import headline, open_matters
from pipelines.report.settlement_views import settled_facts
from pipelines.report.status import status
from pipelines.settings import Settings
from pipelines.warehouse.catalogue import checks

DAYS = 28
_EARLIER, _WEEK = dt.timedelta(days=DAYS), dt.timedelta(days=7)
_COMPARABLE = 21  # days before that need orders for a comparison
_STORES, _DIFFERING = 30, 5
_OPEN = "failed_count + quarantined_count + unrequested_count"
# The last business day that had ended in the time zones of all stores when an order was last observed.
_LAST = """
    select max(business_date) filter (
            business_date < (select coalesce(min(business_date), 'infinity') from mart.calendar where not is_day_over)
        ), max(business_date), min(business_date) filter (not is_day_over)
    from mart.calendar where business_date <= ? and is_day_over is not null
"""
# Until settings name the statuses that are sales, everything that was not deleted is shown.
_CLASSES = "select if(count(*) filter (sale_class = 'counted') > 0, 'counted', '') from mart.daily_store_sales"
_SALES = """
    select currency, business_date, sum(order_count) as order_count, sum(total_price) as total_price
    from mart.daily_store_sales
    where sale_class <> 'deleted' and (? = '' or sale_class = ?)
        and business_date between ? and ?
    group by currency, business_date order by business_date
"""
_COMPARED = """
    select currency, store_id, any_value(store_name) as store_name, business_date,
        count(*) filter (is_sale) as order_count, count(total_price) filter (is_sale) as priced_count,
        sum(total_price) filter (is_sale) as total_price, count(*) filter (sale_class = 'excluded') as excluded_count
    from (select *, sale_class <> 'deleted' and (? = '' or sale_class = ?) as is_sale from mart.orders)
    where business_date between ? and ? group by currency, store_id, business_date order by all
"""
_FIRST_DAY = "select min(business_date) from mart.daily_store_sales where currency is not distinct from ?"
_CHANGED = """
    select table_name, sum(added_row_count) as added, sum(changed_row_count) as changed,
        sum(removed_row_count) as removed
    from meta.changes where table_name in ('core.orders', 'core.menu_prices', 'core.stores', 'mart.restatements')
    group by table_name order by table_name
"""
_CHANGED_SALES = """
    select currency, sum(previous_amount) as previous, sum(current_amount) as current
    from meta.changed_amounts left join (select store_id, any_value(currency) as currency from mart.daily_store_sales
    group by store_id) using (store_id) where table_name = 'core.orders' and column_name = 'total_price'
    group by currency having previous <> current order by currency nulls last
"""
_COVERAGE = f"""
    with days as (select store_id, sum(id_count) as id_count, sum({_OPEN}) as open_count,
            count(*) filter (id_count > 0) as day_count, min(completeness) as completeness
        from audit.coverage where business_date between ? and ? and store_id is not null group by store_id
    ), orders as (
        select store_id, max(created_at) as last_order_at, max(last_checked_at) as last_answer_at
        from mart.orders where store_id is not null group by store_id
    )
    select store_id, stores.name, coalesce(id_count, 0) as id_count, coalesce(open_count, 0) as open_count,
        coalesce(day_count, 0) as day_count, completeness, last_order_at, last_answer_at,
        stores.store_id is not null as is_listed, orders.store_id is not null as has_orders
    from core.stores as stores full join orders using (store_id) full join days using (store_id)
    order by open_count desc, id_count desc, store_id
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
_HAS_MODELS = "select 1 from duckdb_tables() where schema_name = 'meta' and table_name = 'models'"
_MODELS = """
    select model_name, made_at, problem, warnings from meta.models
    where problem is not null or len(warnings) > 0 order by model_name
"""
_DRIFT = """
    select kind, path, change_type, first_seen_at, example_ids[1] as example
    from audit.schema_drift order by first_seen_at desc nulls last, kind, path, change_type
"""
_EXAMPLES = "select check_name, min(entity_id) from audit.findings group by check_name"
_ORDERS = """
    select count(*) as orders, count(distinct store_id) as stores, min(business_date) as since,
        max(last_checked_at) as observed_at
    from mart.orders
"""
_CHARTS = 3  # currencies with a waterfall, of the first sale class
# The largest of each currency first, and of each sale class and measure: amounts of two currencies cannot be compared.
_BREAKS_SQL = """
    select order_id, business_date, rows.store_id, stores.name as store_name, rows.currency, total_residual,
        subtotal_residual, coalesce(total_likely_cause::varchar, subtotal_likely_cause::varchar) as likely_cause
    from open_breaks as rows left join core.stores as stores using (store_id)
    where {where}
    order by row_number() over (partition by rows.currency order by abs_residual desc, order_id),
        count(*) over (partition by rows.currency) desc, rows.currency nulls last
    limit {most}
"""
_RESTATEMENTS = """
    select order_id, closed_business_date, store_id, currency, sale_class, measure, closed_amount,
        restatement_amount, cause
    from mart.restatements as rows where {unposted} and {where}
    order by row_number() over (
            partition by currency, sale_class, measure order by abs(restatement_amount) desc, restatement_no
        ), count(*) over (partition by currency, sale_class, measure) desc, currency nulls last, sale_class, measure
    limit {most}
"""


def released_facts(opened: Released) -> dict[str, Any]:
    """Return the facts of each section by its name; all but `sales` and `coverage` say nothing of days."""
    db = opened.con
    published = dt.datetime.fromisoformat(opened.manifest.published_at).date()
    ((complete, latest, unfinished),) = db.execute(
        _LAST, [published + dt.timedelta(days=1)]
    ).fetchall()  # none of the future
    last = complete or latest
    counted = (db.execute(_CLASSES).fetchone() or ("",))[0]
    window = [last - dt.timedelta(days=DAYS - 1 - number) for number in range(DAYS)] if last else []
    return {
        "window": window,
        "sales": _sales(db, window, counted) | {"is_complete": complete is not None, "unfinished": unfinished},
        "changed": {"rows": records(db, _CHANGED), "sales": records(db, _CHANGED_SALES)},
        "coverage": _coverage(db, window),
        "quarantine": records(db, _QUARANTINE),
        "drift": records(db, _DRIFT),
        "models": records(db, _MODELS) if db.execute(_HAS_MODELS).fetchone() else [],
        "checks": _checks(db, opened.manifest.checks),
        "warehouse": records(db, _ORDERS)[0],
    }


def _sales(db: duckdb.DuckDBPyConnection, window: list[dt.date], counted: str) -> dict[str, Any]:
    """Return whether statuses count as sales, and each currency with its days, the one of most orders first."""
    if not window:
        return {"is_counted": True, "currencies": []}
    found: dict[str | None, dict[dt.date, Any]] = {}
    for row in records(db, _SALES, [counted, counted, window[0] - _EARLIER, window[-1]]):
        found.setdefault(row["currency"], {})[row["business_date"]] = row
    ranked = sorted(found.items(), key=lambda item: -sum(day["order_count"] for day in item[1].values()))
    compared = records(db, _COMPARED, [counted, counted, window[-1] - 2 * _WEEK + dt.timedelta(days=1), window[-1]])
    currencies = []
    for currency, days in ranked:
        first = (db.execute(_FIRST_DAY, [currency]).fetchone() or (None,))[0]
        rows = [row for row in compared if row["currency"] == currency]
        currencies.append(_currency(currency, days, window) | _figures(rows, window[-1], first))
    return {"is_counted": bool(counted), "currencies": currencies}


def _figures(rows: list[dict[str, Any]], last: dt.date, first: dt.date | None) -> dict[str, Any]:
    """Return last day and week beside a week before, if orders go back so far, and the stores that differ most."""
    week = [last - dt.timedelta(days=number) for number in range(7)]
    spans = []
    for days in ([last], week):
        before = [day - _WEEK for day in days]
        is_comparable = first is not None and min(before) >= first
        now, then = (_summed(row for row in rows if row["business_date"] in of) for of in (days, before))
        spans.append({"last": last, "earlier": last - _WEEK, "now": now, "before": then if is_comparable else None})
    stores: dict[int | None, dict[str, Any]] = {}
    for row in rows:
        store = stores.setdefault(row["store_id"], {"name": row["store_name"], "now": Decimal(0), "before": Decimal(0)})
        store["now" if row["business_date"] in week else "before"] += row["total_price"] or Decimal(0)
    differing = [
        {"store_id": store_id, **store, "difference": store["now"] - store["before"]}
        for store_id, store in stores.items()
        if spans[1]["before"] and store["now"] != store["before"]
    ]
    differing.sort(key=lambda store: (-abs(store["difference"]), store["store_id"] or 0))
    return {"day": spans[0], "week": spans[1], "differing": differing[:_DIFFERING]}


def _summed(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return sales, orders, average order value of the orders that state a total, and the share of excluded orders."""
    found = list(rows)
    keys = ("order_count", "priced_count", "excluded_count")
    orders, priced, excluded = (sum(row[key] for row in found) for key in keys)
    total = sum((row["total_price"] or Decimal(0) for row in found), Decimal(0))
    share = excluded / (orders + excluded) if orders + excluded else None
    return {"total": total, "orders": orders, "average": total / priced if priced else None, "excluded": share}


def _currency(currency: str | None, days: dict[dt.date, Any], window: list[dt.date]) -> dict[str, Any]:
    nothing = {"order_count": 0, "total_price": None}
    rows = []
    for day in window:
        of, before = days.get(day, nothing), days.get(day - _EARLIER, nothing)["total_price"]
        figures = {"day": day, "order_count": of["order_count"], "value": of["total_price"], "before": before}
        rows.append({**figures, "colour": "blue", "name": f"{day:%-d %b}" if day.weekday() == 0 else "", "mark": ""})
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
        return {"stores": [], "listed": 0, "loaded": 0, "unlisted": 0}
    stores = records(db, _COVERAGE, [window[0], window[-1]])
    listed = [row for row in stores if row["is_listed"]]
    shown = [row["store_id"] for row in stores[:_STORES]]
    counted = records(db, _CELLS, [window[0], window[-1], shown])
    cells = {(row["store_id"], row["business_date"]): row for row in counted}
    nothing = {"id_count": 0, "open_count": 0}
    rows = [[cells.get((store, day), nothing) for day in window] for store in shown]
    loaded, unlisted = sum(row["has_orders"] for row in listed), sum(not row["is_listed"] for row in stores)
    ids = [cell["id_count"] for row in rows for cell in row]
    heat = {"cells": rows, "most": max(ids, default=0), "gaps": sum(not number for number in ids)}
    nowhere = (db.execute(_NOWHERE).fetchone() or (0,))[0]
    still = {"unresolved": sum(row["open_count"] for row in stores), "nowhere": nowhere}
    return {"stores": stores, "listed": len(listed), "loaded": loaded, "unlisted": unlisted, **heat, **still}


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
    return records(reconciled.db, _BREAKS_SQL.format(where=reconciled.selection.where(), most=most))


def urgent_days(reconciled: Reconciliation) -> list[Record]:
    """Return the days: those with most breaks and unposted restatements first, then indeterminate orders, then late."""
    days = sorted(reconciled.days(), key=lambda day: day["business_date"] or dt.date.min, reverse=True)
    return sorted(days, key=lambda day: (-(day["break_count"] + day["unposted_count"]), -day["indeterminate_count"]))


def _waterfalls(reconciled: Reconciliation) -> dict[str, Any]:
    """Return the sums by currency and sale class, and the steps of the largest of the first class.

    Each of the two ways, from lines to the subtotal and from there to the total, has a scale of its own.
    """
    lines = sorted(
        reconciled.lines(),
        key=lambda line: (line["sale_class"] != "counted", -line["break_count"], -line["order_count"]),
    )
    charted = [line for line in lines if line["sale_class"] == lines[0]["sale_class"]][:_CHARTS]
    ways = []
    for line in charted:
        to_subtotal, to_total = bridge(reconciled, line)
        for begin, begin_name, end, end_name, steps in (
            ("line_amount", "lines", "subtotal_price", "subtotal", to_subtotal),
            ("subtotal_price", "subtotal", "total_price", "total", to_total),
        ):
            ends = {"start": line[begin], "start_name": begin_name, "end": line[end], "end_name": end_name}
            ways.append({**line, **ends, "steps": _steps(line, steps)})
    whole = [way for way in ways if way["steps"] and None not in (way["start"], way["end"])]
    return {"lines": lines, "waterfalls": whole}


def _steps(line: Mapping[str, Any], parts: Mapping[str, Decimal]) -> list[dict[str, Any]]:
    """Return a step for each part that is not zero, from where the one before ended; the first begins at zero."""
    known, rows = Decimal(0), []
    for name, amount in parts.items():
        colour = "red" if name == RESIDUAL else "blue" if amount > 0 else "orange"
        label = f"{name}  {money(amount, line['currency'], is_signed=True)}"
        rows.append({"label": label, "start": known, "end": known + amount, "colour": colour})
        known += amount
    return rows


PAGE = "morning.html"
_READABLE = 0o644
_BREAKS, _ROWS = 6, 8
SHOWN = 30
_COLOURS = {"good": "blue", "incomplete": "orange", "failed": "red", "stopped": "red", "killed": "red"}


def write_morning_page(settings: Settings, run: Run, now: dt.datetime | None = None) -> str:
    """Write the page of a run that ended; return why it could not be written, "" if it was. Raise nothing."""
    try:
        _write(settings, run, now or utc_now())
    except Exception as error:  # noqa: BLE001 -- the run is over; its page must not change how it ended
        return f"The morning page could not be written: {type(error).__name__}"
    return ""


def _write(settings: Settings, run: Run, now: dt.datetime) -> None:
    runs = [*(each for each in ended_runs(settings.data_dir, is_any_alive=True) if each.id != run.id), run]
    file = settings.data_dir / "published" / PAGE
    release = current_release(settings.data_dir / "published")
    state = status(settings, now)
    matters, first, unread, facts = None, None, "There is no release yet.", dict[str, Any](settled={})
    if release is not None:
        try:
            with open_release(settings) as opened:
                reconciled = reconciliation(opened, Selection())
                settled = settled_facts(opened, now.date())
                first = next((each["order_id"] for each in largest_breaks(reconciled, 1)), None)
                matters = open_matters(settings, opened, runs)
                facts = released_facts(opened) | reconciled_facts(reconciled, _BREAKS, _ROWS) | {"settled": settled}
                unread = ""
        except (duckdb.Error, FinanceError) as error:
            unread = f"The release cannot be read: {type(error).__name__}. See `ordermart doctor`."
    last_night = next((each for each in reversed(runs) if each.kind == NIGHT), None)
    page = render(
        "morning.html",
        now=now,
        said=headline(run, state, matters, first),
        run=_run(run),
        night=_run(last_night) if last_night and run.kind == WEBHOOKS else None,  # it must not be gone by the morning
        nights=nights_facts(runs),
        state=state,
        release=release,
        unread=unread,
        most=_ROWS,
        **facts,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    copies = [release / PAGE] if release is not None and not (release / PAGE).exists() else []
    for written in (file, *copies):
        write_whole(written, page.encode())
        written.chmod(_READABLE)  # as releases are; what else a run writes is its owner's alone


def _run(run: Run) -> dict[str, Any]:
    """Return what a run did; `verdicts` are those that any kind has a count of, and `head` names them."""
    verdicts = sorted({verdict for counts in run.landed.values() for verdict, number in counts.items() if number})
    return {
        "kind": "night" if run.kind == NIGHT else "run for webhooks",
        "ended_at": run.ended_at or run.started_at,
        "took": f"{run.seconds:,.1f} s",
        "outcome": run.run_state,
        "errors": [*run.errors, *([f"The run {run.how}."] if run.stopped_by else [])],
        "landed": run.landed,
        "verdicts": verdicts,
        "head": ["kind", *(f"{verdict.replace('_', ' ')}#" for verdict in verdicts)],
    }


def nights_facts(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the last nights, oldest first, and how many ended in which way."""
    nights = [_night(run) for run in runs if run.kind == NIGHT][-SHOWN:]
    for place, night in enumerate(reversed(nights)):
        night["name"] = f"{night['ended_at']:%-d %b}" if place % 7 == 0 else ""
    counts = {name: sum(night["outcome"] == name for night in nights) for name in _COLOURS}
    return {
        "nights": nights,
        "ended": ", ".join(f"{number} {name}" for name, number in counts.items() if number),
        "legend": [(_COLOURS[name], name) for name, number in counts.items() if number],
        "slowest": max((night["value"] for night in nights), default=0),
    }


def _night(run: Run) -> dict[str, Any]:
    accepted = {kind: verdicts.get("accepted", 0) for kind, verdicts in run.landed.items()}
    took = f"{run.seconds:.1f} s" if run.seconds < 60 else f"{run.seconds // 60:.0f} min {run.seconds % 60:.0f} s"
    came = ", ".join(f"{number:,} {kind}" for kind, number in accepted.items() if number) or "nothing new"
    colour = _COLOURS[run.run_state]
    mark = "×" if colour == "red" else ""  # so that colour is not needed
    bar = {"value": run.seconds, "before": None, "colour": colour, "mark": mark}
    said = {"outcome": run.run_state, "took": took, "is_new": run.is_new, "accepted": came}
    return {"ended_at": run.ended_at or run.started_at, **bar, **said}
