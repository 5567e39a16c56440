"""What became of an order over time: its versions, the seals of closed days that hold it, restatements since.

Tells of each only where the release has its table. Shows names of personal fields, never values.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records
from pipelines.report.text import moment, money, plain, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

_AMOUNTS = {"subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price"}


def history(db: duckdb.DuckDBPyConnection, tables: set[str], order: Mapping[str, Any]) -> Iterator[str]:
    """Give the lines about an order's past; `order` is its row of mart.orders."""
    if "core.order_versions" in tables:
        yield from _versions(db, order["order_id"])
    if {"mart.closed_days", "mart.restatements"} <= tables:
        yield from _closing(db, order)


def _versions(db: duckdb.DuckDBPyConnection, order_id: int) -> Iterator[str]:
    changes: dict[int, list[Mapping[str, Any]]] = {}
    for each in records(db, "from core.order_changes where order_id = ? order by version_no, field", [order_id]):
        changes.setdefault(each["version_no"], []).append(each)
    yield ""
    yield "Versions"
    for version in records(db, "from core.order_versions where order_id = ? order by version_no", [order_id]):
        number = version["version_no"]
        yield from wrapped(
            f"{number}. seen {moment(version['first_seen_at'])} to {moment(version['last_seen_at'])}: "
            f"{plain(version['status'] or 'no status')}, total {money(version['total_price'])}"
        )
        yield f"     sha256 {version['_payload_sha256']}"
        for change in changes.get(number, []):
            yield from wrapped(f"{plain(change['field'])}{_change(change)}", 5)


def _closing(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "Closing"
    seals = records(
        db,
        "select distinct close_entry_no, closed_at from mart.closed_days "
        "where business_date = ? and store_id is not distinct from ? order by close_entry_no",
        [order["business_date"], order["store_id"]],
    )
    for seal in seals:
        yield from wrapped(
            f"business day {order['business_date']} of this store is sealed: act {seal['close_entry_no']} of the ledger, "
            f"{moment(seal['closed_at'])}"
        )
    if not seals:
        yield "  its business day is not sealed"
    for each in records(db, "from mart.restatements where order_id = ? order by number", [order["order_id"]]):
        before = f", restated before by {money(each['prior_restated_amount'])}" if each["prior_restated_amount"] else ""
        state = f"posted to {plain(each['posted_period'])}" if each["posted_period"] else "open"
        yield from wrapped(
            f"restatement {each['number']}: {each['part']} of {each['closed_business_date']} ({each['sale_class']}), "
            f"sealed {money(each['sealed'])}{before}, now {money(each['now'])}, "
            f"difference {money(each['difference'])}; {each['cause']}, found {moment(each['detected_at'])}, "
            + (state if each["is_close_active"] else "its seal was reopened")
        )


def _change(change: Mapping[str, Any]) -> str:
    if change["old_value"] is None and change["new_value"] is None:
        return " changed"
    old, new = (_value(change["field"], value) for value in (change["old_value"], change["new_value"]))
    return f": {old} → {new}"


def _value(field: str, value: str | None) -> str:
    if value is None:
        return "nothing"
    return money(Decimal(value)) if field in _AMOUNTS else plain(value)
