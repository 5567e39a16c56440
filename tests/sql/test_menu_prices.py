"""core.menu_prices: one row per price in a price group of a menu."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def prices(run_table: Run, *groups: Any) -> list[dict[str, Any]]:
    """Return the rows of a menu whose groups hold these prices."""
    document = {"menu": {"id": 10, "price_groups": [{"prices": group} for group in groups]}}
    return run_table("core.menu_prices", {"raw.latest_menus": [{"menu_id": 10, "document": document, "_load_id": "L"}]})


@pytest.mark.duckdb2
def test_a_product_in_two_groups(run_table: Run) -> None:
    """A product priced in two groups, and twice in one, has a row for each place."""
    rows = prices(
        run_table,
        [{"price_id": 1, "product_id": 5, "price": "9.5"}, {"price_id": 1, "product_id": 5, "price": "8"}],
        [{"price_id": 2, "product_id": 5, "price": "9.50"}],
    )
    got = [(row["group_no"], row["price_no"], row["price_id"], row["product_id"], row["price"]) for row in rows]
    assert got == [
        (1, 1, 1, 5, Decimal("9.5")),
        (1, 2, 1, 5, Decimal(8)),
        (2, 1, 2, 5, Decimal("9.5")),
    ]


def test_two_prices_are_kept_apart(run_table: Run) -> None:
    """Price and delivery price keep every digit, and neither stands in for the other."""
    rows = prices(
        run_table,
        [
            {"product_id": 5, "channel": "both", "position": 3, "price": "0.0001", "delivery_price": "12.3456"},
            {"product_id": 6, "price": None, "delivery_price": "1"},
        ],
    )
    assert [(row["price"], row["delivery_price"]) for row in rows] == [
        (Decimal("0.0001"), Decimal("12.3456")),
        (None, Decimal(1)),
    ]
    assert (rows[0]["channel"], rows[0]["position"]) == ("both", 3)


def test_nulls_keep_their_places(run_table: Run) -> None:
    """A group without prices gives no row, a null price a row of nulls."""
    rows = prices(run_table, None, [], [None, {"product_id": 6}])
    assert [(row["group_no"], row["price_no"], row["product_id"]) for row in rows] == [(3, 1, None), (3, 2, 6)]
