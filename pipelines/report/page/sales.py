"""The section of sales: the last 28 business days of each currency, beside the same weekdays four weeks before.

Knows nothing of runs.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import money
from pipelines.finance.records import records
from pipelines.report.page.markup import Chart, Section, Table, paragraph
from pipelines.report.text import NOT_STATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

DAYS = 28
_EARLIER = dt.timedelta(days=DAYS)
_COMPARABLE = 21  # days before that need orders for a comparison
_CHARTS = 4  # currencies
_TABLE = 14  # days of the table behind a chart
# Until settings name the statuses that are sales, everything that was not deleted is shown.
_CLASSES = "select if(count(*) filter (sale_class = 'counted') > 0, 'counted', '') from mart.daily_store_sales"
_DAYS = """
    select currency, business_date, sum(order_count) as order_count, sum(total_price) as total_price
    from mart.daily_store_sales
    where sale_class <> 'deleted' and (? = '' or sale_class = ?)
        and business_date between ? and ?
    group by currency, business_date order by business_date
"""
_LAST = "select max(business_date) from mart.daily_store_sales where business_date <= ?"


def last_day(db: duckdb.DuckDBPyConnection, published: dt.date) -> dt.date | None:
    """Return the last business day with orders that is not in the future of a release, None without any."""
    found = db.execute(_LAST, [published + dt.timedelta(days=1)]).fetchone()
    return found[0] if found else None


def sales_section(db: duckdb.DuckDBPyConnection, last: dt.date | None) -> tuple[Section, list[tuple[str, str, str]]]:
    """Return the section, and for each currency its name, the sum of the last 28 days and the change, as text."""
    if last is None:
        return Section("sales", "Sales", (paragraph("No order has a business day yet.", "soft"),)), []
    counted = (db.execute(_CLASSES).fetchone() or ("",))[0]
    first = last - dt.timedelta(days=2 * DAYS - 1)
    found: dict[str | None, dict[dt.date, Any]] = {}
    for row in records(db, _DAYS, [counted, counted, first, last]):
        found.setdefault(row["currency"], {})[row["business_date"]] = row
    ranked = sorted(found.items(), key=lambda item: -sum(day["order_count"] for day in item[1].values()))
    parts: list[Chart | Table | str] = []
    figures = []
    for place, (currency, days) in enumerate(ranked[:_CHARTS]):
        chart, table, figure = _currency(place, currency, days, last)
        parts += [chart, table]
        figures.append(figure)
    if len(ranked) > _CHARTS:
        parts.append(paragraph(f"{_CHARTS} of {len(ranked)} currencies; all in `from mart.daily_store_sales`.", "soft"))
    if not counted:
        parts.append(
            paragraph("No status is counted as a sale yet, so all orders are: see [sales] counted_statuses.", "soft")
        )
    what = "Sales" if counted else "Orders placed"
    return Section("sales", f"{what}, last {DAYS} days", parts), figures


def _currency(
    place: int, currency: str | None, days: dict[dt.date, Any], last: dt.date
) -> tuple[Chart, Table, tuple[str, str, str]]:
    window = [last - dt.timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    rows = [
        {"day": day.isoformat(), "now": _total(days, day), "before": _total(days, day - _EARLIER)} for day in window
    ]
    now = sum((_total(days, day) or Decimal(0) for day in window), Decimal(0))
    before = sum((_total(days, day - _EARLIER) or Decimal(0) for day in window), Decimal(0))
    label, change = currency or f"currency {NOT_STATED}", _change(days, window, now, before)
    description = (
        f"Bars of total_price by business day from {window[0]} to {last}: {money(now, currency)} in all; "
        f"ticks show the same weekdays {DAYS} days before: {money(before, currency)} in all."
    )
    legend = [("blue", "total price of a day"), *([("tick", "same weekday, 28 days before")] if before else [])]
    chart = Chart(f"sales-{place}", "sales", label, description, rows, legend)
    table = Table(
        f"Days in {label}",
        ("day", "orders", "total price", "28 days before"),
        [
            (
                f"{day:%a} {day}",
                f"{days[day]['order_count']:,}" if day in days else "0",
                money(_total(days, day), currency),
                money(_total(days, day - _EARLIER), currency) if before else None,
            )
            for day in reversed(window[-_TABLE:])
        ],
        frozenset({1, 2, 3}),
        DAYS,
        "from mart.daily_store_sales",
        is_folded=True,
    )
    return chart, table, (f"Sales of {DAYS} days, {label}", money(now, currency), change)


def _total(days: dict[dt.date, Any], day: dt.date) -> Decimal | None:
    return days[day]["total_price"] if day in days else None


def _change(days: dict[dt.date, Any], window: Sequence[dt.date], now: Decimal, before: Decimal) -> str:
    """Return the change in percent, if most of the days before have orders."""
    known = sum(day - _EARLIER in days for day in window)
    if known < _COMPARABLE or before <= 0:
        return f"{known} of the {DAYS} days before have orders"
    return f"{(now - before) / before * 100:+.1f}% on the {DAYS} days before"
