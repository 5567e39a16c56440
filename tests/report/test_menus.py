"""A price compared with a menu names which menu, and when it was seen."""

from __future__ import annotations

import duckdb

from pipelines.report.menus import menu_prices

COLUMNS = "order_id, line_no, modifier_no, menu_match, menu_entry_count, menu_id, menu_seen_at, price_match, price"


def test_a_compared_price_names_its_menu() -> None:
    """One menu with its time, several without a number, an archive without a time; amounts in the currency's digits."""
    seen = "timestamptz '2026-10-03 12:00:00Z'"
    with duckdb.connect(":memory:") as db:
        db.execute("set timezone = 'UTC'")
        db.execute("create schema mart")
        db.execute(
            f"create table mart.price_variances as select *, price as menu_price, 0.0 as price_variance, "
            "null as menu_delivery_price, null as delivery_price_variance from (values "
            f"(1, 1, null, 'unique', 1, 7, {seen}, 'price', 1.2100::decimal(18, 4)), "
            f"(1, 2, null, 'ambiguous', 2, null, {seen}, 'price', 3.0000), "
            "(1, 3, null, 'unique', 1, 8, null, 'price', 4.0000), "
            f"(1, 4, null, 'none', 0, null, null, 'indeterminate', 5.0000)) as t({COLUMNS})"
        )
        text = " ".join(" ".join(menu_prices(db, 1, "KWD")).split())
    assert "line 1: 1.210 equals the price, not the delivery price (menu 7, seen 2026-10-03 12:00:00Z;" in text
    assert "line 2: 3.000 equals the price, not the delivery price (several menus, seen 2026-10-03" in text
    assert "(menu 8, seen at an unknown time; 1 menu entry; price 4.000)" in text
    assert "line 4: 5.000 is on no menu of the store" in text
