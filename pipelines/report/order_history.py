"""History of an order: its versions, the close of its day, its restatements, and the menus when it was placed.

Shows names of personal fields, never values.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import measured, money
from pipelines.finance.released import records
from pipelines.landing.charges import PRICES
from pipelines.literals import one_line as plain
from pipelines.report.text import counted, moment, wrapped

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    import duckdb


_MATCHES = {
    "both": "equals both the price and the delivery price",
    "price": "equals the price, not the delivery price",
    "delivery_price": "equals the delivery price, not the price",
    "neither": "is not on the menu",
    "indeterminate": "cannot be compared",
}
_FIRST_SEEN = (
    "(select greatest($created_at, min(first.observed_from)) from core.menu_price_versions as first "
    "where first.menu_id = seen.menu_id)"
)


def history(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about an order's history; `order` is its row of mart.orders."""
    order_id, currency = order["order_id"], order["currency"]
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
    yield from _closing(db, order)


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
        closed_again = f"{state}, reversed in {plain(row['reversed_period'])}" if row["reversed_period"] else ""
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


def menu_prices(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each line and modifier of an order: whether it was on a menu, and at which price."""
    currency, select = order["currency"], "from mart.price_variances where order_id = ? order by line_no, modifier_no"
    found = records(db, f"{select} nulls first", [order["order_id"]])
    if not found:
        return
    yield ""
    yield "Menu prices as observed when it was placed"
    if all(row["menu_match"] == "menu_unknown" for row in found):
        yield "  not comparable: on no menu of the store that has been observed in time"
        return
    if any(row["menu_match"] == "first_seen_later" for row in found):
        yield from wrapped("no menu of the store had been observed by then: compared with each as first seen later")
    for row in found:
        item = f"{row['line_no']}" + ("" if row["modifier_no"] is None else f", modifier {row['modifier_no']}")
        yield from wrapped(
            f"line {item}: {money(row['price'], currency)} {_comparison(row, currency, _seen(db, order, row))}"
        )


def _seen(
    db: duckdb.DuckDBPyConnection, order: Mapping[str, Any], row: Mapping[str, Any]
) -> list[tuple[int, dt.datetime | None]]:
    """Return the store's menus that offered an item when it was compared, and since when they were seen to do so."""
    table, item = (
        ("core.menu_price_versions", "product_id = $product_id and $modifier_id is null")
        if row["modifier_no"] is None
        else (
            "core.modifier_price_versions",
            "modifier_id = $modifier_id and (parent_type = 'modifier' or parent_id = $product_id)",
        )
    )
    then = _FIRST_SEEN if row["menu_match"] == "first_seen_later" else "$created_at"
    return db.execute(
        f"select menu_id, max(observed_from) from {table} as seen "
        "where menu_id in (select menu_id from core.store_menus where store_id = $store_id) "
        f"and coalesce(observed_from <= {then}, true) "
        f"and (is_current or change_seen_at > {then}) and {item} group by menu_id order by menu_id",
        {name: order[name] for name in ("store_id", "created_at")}
        | {name: row[name] for name in ("product_id", "modifier_id")},
    ).fetchall()


def _comparison(row: Mapping[str, Any], currency: str | None, seen: list[tuple[int, dt.datetime | None]]) -> str:
    if row["menu_match"] == "menu_unknown":
        return "is on no menu observed by then; others had not been observed"
    if row["menu_match"] == "none":
        return "is on no menu of the store"
    entries = counted(row["menu_entry_count"], "menu entry", "menu entries")
    first = "first " * (row["menu_match"] == "first_seen_later")
    menus = [f"menu {menu_id}, {first}seen {moment(seen_at)}" for menu_id, seen_at in seen]
    known = [
        f"{name} {money(row[column], currency)}"
        + (f", variance {money(row[variance], currency)}" if row[variance] else "")
        for name, column, variance in (
            ("price", "menu_price", "price_variance"),
            ("delivery price", "menu_delivery_price", "delivery_price_variance"),
        )
        if row[column] is not None
    ]
    return f"{_MATCHES[row['price_match']]} ({'; '.join([*menus, entries, *known])})"
