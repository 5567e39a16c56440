"""How the Parquet files of a table are partitioned by month, and the SQL that names a row's month.

A mart with a business day is partitioned by `business_month`, every other table of orders by `created_month`, the month
of the order's `created_at` in UTC; the rest are one file each. A month is a text such as 2026-10, and `unknown` where
there is no time: readers take `__HIVE_DEFAULT_PARTITION__`, the usual name, for a null, and pandas then fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.warehouse.catalogue.tables import Table

CREATED, BUSINESS = "created_month", "business_month"
NO_MONTH = "unknown"
WHOLE = ""  # the month of a table that is published as one file


def partition_of(table: Table) -> str:
    """Return the column by which a table's files are partitioned; "" if it is one file."""
    if table.name.startswith("mart.") and any(column.name == "business_date" for column in table.columns):
        return BUSINESS
    return CREATED if table.scope == "order" else ""


def month_of(time: str) -> str:
    """Return the expression of the month, in UTC, in which a time lies; no time is a month of its own."""
    utc = f"make_timestamp(epoch_us({time}))"  # strftime of a time with a zone takes four times as long
    return f"coalesce(strftime({utc}, '%Y-%m'), '{NO_MONTH}')"


def months_of_days(relation: str) -> str:
    """Return a select of the months, each once, of the business days in a relation."""
    month = f"coalesce(strftime(business_date, '%Y-%m'), '{NO_MONTH}') as month"
    return f"select distinct {month} from (select distinct business_date from {relation})"


def is_in_business_month(month: str) -> str:
    """Return the condition that a row `t` has a business day in a month."""
    if month == NO_MONTH:
        return "t.business_date is null"
    first = f"date '{month}-01'"
    return f"t.business_date between {first} and last_day({first})"
