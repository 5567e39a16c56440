"""Compare the prices of an order with the menus as observed when it was placed.

Knows nothing of rules or sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records
from pipelines.report.text import counted, moment, money, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

_MATCHES = {
    "both": "equals both the price and the delivery price",
    "price": "equals the price, not the delivery price",
    "delivery_price": "equals the delivery price, not the price",
    "neither": "equals neither price",
    "indeterminate": "cannot be compared",
}


def menu_prices(db: duckdb.DuckDBPyConnection, order_id: int, currency: str | None) -> Iterator[str]:
    """Yield a line for each line and modifier of an order: whether it was on a menu, and at which price."""
    found = records(
        db, "from mart.price_variances where order_id = ? order by line_no, modifier_no nulls first", [order_id]
    )
    if not found:
        return
    yield ""
    yield "Menu prices as observed when it was placed"
    if all(row["menu_match"] == "menu_unknown" for row in found):
        yield "  not comparable: on no menu of the store that had been observed by then"
        return
    for row in found:
        item = f"{row['line_no']}" + ("" if row["modifier_no"] is None else f", modifier {row['modifier_no']}")
        yield from wrapped(f"line {item}: {money(row['price'], currency)} {_comparison(row, currency)}")


def _comparison(row: Mapping[str, Any], currency: str | None) -> str:
    if row["menu_match"] == "menu_unknown":
        return "is on no menu observed by then; others had not been observed"
    if row["menu_match"] == "none":
        return "is on no menu of the store"
    entries = counted(row["menu_entry_count"], "menu entry", "menu entries")
    menu = "several menus" if row["menu_id"] is None else f"menu {row['menu_id']}"
    entries = f"{menu}, seen {moment(row['menu_seen_at'])}; {entries}"
    known = [
        f"{name} {money(row[column], currency)}"
        + (f", variance {money(row[variance], currency)}" if row[variance] else "")
        for name, column, variance in (
            ("price", "menu_price", "price_variance"),
            ("delivery price", "menu_delivery_price", "delivery_price_variance"),
        )
        if row[column] is not None
    ]
    return f"{_MATCHES[row['price_match']]} ({'; '.join([entries, *known])})"
