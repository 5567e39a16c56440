"""Say how the prices of an order stand to the menus that were observed when it was placed.

Says what is not known rather than guess. Knows nothing of rules or sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records
from pipelines.report.text import money, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

_MATCHES = {
    "both": "is the price and the delivery price",
    "price": "is the price, not the delivery price",
    "delivery_price": "is the delivery price, not the price",
    "neither": "is neither price",
    "indeterminate": "cannot be compared",
}


def menu_prices(db: duckdb.DuckDBPyConnection, order_id: int) -> Iterator[str]:
    """Give a line for each line and modifier of an order: on the menus of then, and at which price."""
    found = records(
        db, "from mart.price_variances where order_id = ? order by line_no, modifier_no nulls first", [order_id]
    )
    if not found:
        return
    yield ""
    yield "Menus as observed when it was placed"
    if all(each["menu_match"] == "menu_unknown" for each in found):
        yield "  on no menu of the store that was known then: nothing to compare with"
        return
    for each in found:
        place = f"{each['line_no']}" + ("" if each["modifier_no"] is None else f", modifier {each['modifier_no']}")
        yield from wrapped(f"line {place}: {money(each['price'])} {_said(each)}")


def _said(row: Mapping[str, Any]) -> str:
    if row["menu_match"] == "menu_unknown":
        return "is on no menu known then, and not all were known"
    if row["menu_match"] == "none":
        return "stands on no menu of the store"
    places = "one place" if row["menu_entry_count"] == 1 else f"{row['menu_entry_count']:,} places"
    known = [
        f"{name} {money(row[column])}" + (f", off by {money(row[drift])}" if row[drift] else "")
        for name, column, drift in (
            ("price", "menu_price", "price_variance"),
            ("delivery price", "menu_delivery_price", "delivery_price_variance"),
        )
        if row[column] is not None
    ]
    return f"{_MATCHES[row['price_match']]} ({'; '.join([places, *known])})"
