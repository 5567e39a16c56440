"""Compare the prices of an order with the menus as observed when it was placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.released import records
from pipelines.report.text import counted, moment, money, wrapped

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    import duckdb

_MATCHES = {
    "both": "equals both the price and the delivery price",
    "price": "equals the price, not the delivery price",
    "delivery_price": "equals the delivery price, not the price",
    "neither": "equals neither price",
    "indeterminate": "cannot be compared",
}
_FIRST_SEEN = (
    "(select greatest($created_at, min(first.observed_from)) from core.menu_price_versions as first "
    "where first.menu_id = seen.menu_id)"
)


def menu_prices(db: duckdb.DuckDBPyConnection, order: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each line and modifier of an order: whether it was on a menu, and at which price."""
    currency, select = (
        order["currency"],
        "from mart.price_variances where order_id = ? order by line_no, modifier_no nulls first",
    )
    found = records(db, select, [order["order_id"]])
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
