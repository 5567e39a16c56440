"""A price compared with a menu names which menu, and when it was seen."""

from __future__ import annotations

import datetime as dt

import duckdb

from pipelines.report.explain import menu_prices

ORDER = {"order_id": 1, "store_id": 9, "created_at": dt.datetime(2026, 10, 6, 12, tzinfo=dt.UTC), "currency": "KWD"}
# Line and modifier, product and modifier id, how it matches.
VARIANCES = [
    (1, None, 5, None, "unique"),
    (2, None, 6, None, "ambiguous"),
    (2, 1, 6, 7, "unique"),
    (3, None, 8, None, "none"),
    (4, None, 9, None, "first_seen_later"),
    (5, None, 6, None, "neither"),
    (6, 1, 6, 7, "neither"),
]
# Menu, product, from and until: of 5 the first is over, of 6 one is later, of another store or of no known time.
PRICES = [(1, 5, 1, 3), (1, 5, 3, None), (1, 6, None, None), (2, 6, 4, None), (2, 6, 8, None), (3, 6, 1, None)]
PRICES += [(4, 9, 8, 10), (4, 9, 10, None)]  # first seen after the order, then changed


def day(number: int | None) -> dt.datetime | None:
    """Return noon of a day in October."""
    return None if number is None else dt.datetime(2026, 10, number, 12, tzinfo=dt.UTC)


def test_a_compared_price_names_its_menus() -> None:
    """Each menu of the store that offered it then, since when it was seen; amounts in the currency's digits."""
    with duckdb.connect(":memory:") as db:
        db.execute("set timezone = 'UTC'; create schema mart; create schema core")
        db.execute(
            "create table mart.price_variances (order_id int, line_no int, modifier_no int, product_id int, "
            "modifier_id int, menu_match varchar, menu_entry_count int, price_match varchar, price decimal(18, 4), "
            "menu_price decimal(38, 4), price_variance decimal(38, 4), menu_delivery_price decimal(38, 4), "
            "delivery_price_variance decimal(38, 4))"
        )
        for *row, match in VARIANCES:
            found = ("ambiguous", "neither", None) if match == "neither" else (match, "price", "1.21")
            db.execute(
                "insert into mart.price_variances values (1, ?, ?, ?, ?, ?, 1, ?, 1.21, ?, 0, null, null)",
                [*row, *found],
            )
        db.execute(
            "create table core.store_menus as from (values (9, 1), (9, 2), (9, 4), (10, 3)) t(store_id, menu_id)"
        )
        columns = "price decimal(18, 4), menu_id int, "
        columns += "observed_from timestamptz, change_seen_at timestamptz, is_current boolean"
        db.execute(f"create table core.menu_price_versions (product_id int, delivery_price decimal(18, 4), {columns})")
        db.execute(
            "create table core.modifier_price_versions "
            f"(modifier_id int, parent_type varchar, parent_id int, {columns})"
        )
        for menu, product, since, until in PRICES:
            row = [product, menu + 1, menu, menu, day(since), day(until), until is None]
            db.execute("insert into core.menu_price_versions values (?, ?, ?, ?, ?, ?, ?)", row)
        dearer = "select * replace (1.5 as price) from core.menu_price_versions where menu_id = 2"
        db.execute(f"insert into core.menu_price_versions {dearer}")
        for parent, menu in ((6, 1), (5, 2)):
            row = [7, "product", parent, menu, menu, day(2), None, True]
            db.execute("insert into core.modifier_price_versions values (?, ?, ?, ?, ?, ?, ?, ?)", row)
        text = " ".join(" ".join(menu_prices(db, ORDER)).split())
    equal = "1.210 equals the price, not the delivery price"
    assert f"line 1: {equal} (menu 1, seen 2026-10-03 12:00:00Z; 1 menu entry; price 1.210)" in text
    assert f"line 2: {equal} (menu 1, seen at an unknown time; menu 2, seen 2026-10-04 12:00:00Z; 1 menu" in text
    assert f"line 2, modifier 1: {equal} (menu 1, seen 2026-10-02 12:00:00Z; 1 menu entry" in text
    assert "line 3: 1.210 is on no menu of the store" in text
    assert f"line 4: {equal} (menu 4, first seen 2026-10-08 12:00:00Z; 1 menu entry" in text
    assert (
        "line 5: 1.210 is none of the menus' prices: menu 1 has 1.000 (delivery 2.000), seen at an unknown time; "
        "menu 2 has 1.500 (delivery 3.000) or 2.000 (delivery 3.000), seen 2026-10-04 12:00:00Z; 1 menu entry"
    ) in text
    assert "line 6, modifier 1: 1.210 is none of the menus' prices: menu 1 has 1.000, seen 2026-10-02" in text
    assert text.count("compared with each as first seen later") == 1
