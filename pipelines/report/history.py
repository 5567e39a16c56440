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


def history(db: duckdb.DuckDBPyConnection, tables: set[str], order_id: int) -> Iterator[str]:
    """Give the lines about an order's past."""
    if "core.order_versions" in tables:
        yield from _versions(db, order_id)


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


def _change(change: Mapping[str, Any]) -> str:
    if change["old"] is None and change["new"] is None:
        return " changed"
    old, new = (_value(change["field"], value) for value in (change["old"], change["new"]))
    return f": {old} → {new}"


def _value(field: str, value: str | None) -> str:
    if value is None:
        return "nothing"
    return money(Decimal(value)) if field in _AMOUNTS else plain(value)
