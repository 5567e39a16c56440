"""History of an order: its versions, the close of its day, and its restatements.

Each section needs its table in the release. Shows names of personal fields, never values.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import measured
from pipelines.finance.released import records
from pipelines.landing.charges import PRICES
from pipelines.report.text import moment, money, plain, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb


def history(db: duckdb.DuckDBPyConnection, tables: set[str], order: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about an order's history; `order` is its row of mart.orders."""
    if "core.order_versions" in tables:
        yield from _versions(db, order["order_id"], order["currency"])
    if {"mart.closed_days", "mart.restatements"} <= tables:
        yield from _closing(db, order)


def _versions(db: duckdb.DuckDBPyConnection, order_id: int, currency: str | None) -> Iterator[str]:
    changes: dict[int, list[Mapping[str, Any]]] = {}
    for change in records(db, "from core.order_changes where order_id = ? order by version_no, field", [order_id]):
        changes.setdefault(change["version_no"], []).append(change)
    yield ""
    yield "Versions"
    for version in records(db, "from core.order_versions where order_id = ? order by version_no", [order_id]):
        number = version["version_no"]
        yield from wrapped(
            f"{number}. seen {moment(version['first_seen_at'])} to {moment(version['last_seen_at'])}: "
            f"{plain(version['status'] or 'no status')}, total {money(version['total_price'], currency)}"
        )
        yield f"     sha256 {version['_payload_sha256']}"
        for changed in changes.get(number, []):
            yield from wrapped(f"{plain(changed['field'])}{_change(changed, currency)}", 5)


def _closing(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "Closing"
    closes = records(
        db,
        "select distinct close_entry_no, closed_at from mart.closed_days "
        "where business_date = ? and store_id is not distinct from ? order by close_entry_no",
        [order["business_date"], order["store_id"]],
    )
    for close in closes:
        yield from wrapped(
            f"business day {order['business_date']} of this store is closed: ledger entry {close['close_entry_no']}, "
            f"{moment(close['closed_at'])}"
        )
    if not closes:
        yield "  its business day is not closed"
    for row in records(db, "from mart.restatements where order_id = ? order by restatement_no", [order["order_id"]]):
        shown = partial(measured, row["measure"], currency=row["currency"])
        prior = f", restated before by {shown(row['prior_restated_amount'])}" if row["prior_restated_amount"] else ""
        state = f"posted to {plain(row['posted_period'])}" if row["posted_period"] else "unposted"
        closed_again = f"{state}, reversed in {plain(row['reversed_period'])}" if row.get("reversed_period") else ""
        yield from wrapped(
            f"restatement {row['restatement_no']}: {row['measure']} of {row['closed_business_date']} "
            f"({row['sale_class']}), at close {shown(row['closed_amount'])}{prior}, "
            f"now {shown(row['current_amount'])}, restated by {shown(row['restatement_amount'])}; "
            f"{row['cause']}, detected {moment(row['detected_at'])}, "
            + (state if row["is_close_active"] else closed_again or "day reopened")
        )


def _change(change: Mapping[str, Any], currency: str | None) -> str:
    if change["old_value"] is None and change["new_value"] is None:
        return " changed"
    old, new = (_value(change["field"], value, currency) for value in (change["old_value"], change["new_value"]))
    return f": {old} → {new}"


def _value(field: str, value: str | None, currency: str | None) -> str:
    if value is None:
        return "nothing"
    return money(Decimal(value), currency) if field in PRICES else plain(value)
