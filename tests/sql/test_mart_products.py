"""mart.products: one row per product that is on a menu, was on one, or was sold."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

GIVEN: dict[str, list[dict[str, Any]]] = {
    "core.products": [
        {"menu_id": 11, "product_id": 5, "name": "Tea"},
        {"menu_id": 10, "product_id": 5, "name": None},
        {"menu_id": 12, "product_id": 5, "name": "Chai"},
    ],
    "core.menu_product_versions": [
        {"menu_id": 10, "product_id": 5, "name": "Old tea"},
        {"menu_id": 10, "product_id": 6, "name": "Cake"},
    ],
    "mart.product_mix": [
        {
            "store_id": 1,
            "business_date": "2026-01-02",
            "sale_class": "counted",
            "product_id": 5,
            "ordered_name": "Tea",
            "line_count": 2,
            "unit_count": 3,
        },
        {"store_id": 2, "business_date": None, "sale_class": "counted", "product_id": 5, "line_count": 1},
        {
            "store_id": 1,
            "business_date": "2026-01-05",
            "sale_class": "deleted",
            "product_id": 7,
            "ordered_name": "Pie",
            "line_count": 1,
        },
        {
            "store_id": 1,
            "business_date": "2026-01-04",
            "sale_class": "counted",
            "product_id": 7,
            "ordered_name": "Tart",
            "line_count": 1,
        },
        {"store_id": 1, "business_date": "2026-01-04", "sale_class": "counted", "product_id": None, "line_count": 1},
    ],
}


@pytest.mark.duckdb2
def test_names_menus_and_sales(run_table: Run) -> None:
    """The name on a menu comes first, then the latest on an order; all names that were seen are listed."""
    categories = [{"product_id": 7, "category": "Bakery"}, {"product_id": 99, "category": "None of them"}]
    rows = run_table("mart.products", GIVEN | {"raw.product_categories": categories})
    assert [row["category"] for row in rows] == [None, None, "Bakery"]
    columns = (
        "product_id",
        "product_name",
        "names",
        "is_on_menu",
        "menu_ids",
        "store_count",
        "line_count",
        "unit_count",
    )
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (5, "Tea", ["Chai", "Old tea", "Tea"], True, [10, 11, 12], 2, 3, 3),
        (6, "Cake", ["Cake"], False, [], 0, 0, 0),
        (7, "Pie", ["Pie", "Tart"], False, [], 1, 2, None),
    ]
    assert [(row["first_sold_date"], row["last_sold_date"]) for row in rows] == [
        (dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
        (None, None),
        (dt.date(2026, 1, 4), dt.date(2026, 1, 5)),
    ]


def test_product_without_a_name(run_table: Run) -> None:
    """A product that never had a name has none, and no names."""
    (row,) = run_table("mart.products", {"core.products": [{"menu_id": 1, "product_id": 5, "name": None}]})
    assert (row["product_name"], row["names"], row["is_on_menu"]) == (None, [], True)


def test_category_is_the_group_that_all_menus_have_it_in(run_table: Run) -> None:
    """One group of one name on all menus; two groups, or one without a name, are listed and no category."""
    groups = [(10, 1, "Drinks"), (11, 1, "Drinks"), (11, 2, "Hot"), (12, 1, None)]
    prices = [(10, 1, 5), (11, 1, 5), (10, 1, 6), (11, 2, 6), (10, 1, 7), (12, 1, 7), (10, 1, 8)]
    given = {
        "core.products": [{"menu_id": 10, "product_id": each, "name": "X"} for each in (5, 6, 7, 8, 9)],
        "core.price_groups": [{"menu_id": m, "group_no": g, "name": name} for m, g, name in groups],
        "core.menu_prices": [{"menu_id": m, "group_no": g, "product_id": p} for m, g, p in prices],
        "raw.product_categories": [{"product_id": 8, "category": "Own"}],
    }
    rows = run_table("mart.products", given)
    found = [(row["product_id"], row["category"], row["category_source"], row["price_group_names"]) for row in rows]
    assert found == [
        (5, "Drinks", "menu", ["Drinks"]),
        (6, None, None, ["Drinks", "Hot"]),
        (7, None, None, ["Drinks"]),
        (8, "Own", "reference", ["Drinks"]),
        (9, None, None, []),
    ]
