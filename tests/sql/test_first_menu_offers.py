"""workings.first_menu_offers: the prices of a store's menus when each was first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sql.offers import at, offer

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_each_menu_is_taken_as_first_seen(run_table: Run) -> None:
    """Menu 1 was first seen on the 4th, menu 2 on the 6th: what either asked then, not what it asked later."""
    first, menus = {"are_first_seen_later": True, "known_until": at(4)}, {8: (1, 2), 9: (1,), 10: (1, 3)}
    rows = run_table(
        "workings.first_menu_offers",
        {
            "workings.stores_with_menus": [
                *({"store_id": store} | first for store in (8, 9)),
                {"store_id": 10, "are_first_seen_later": False, "known_from": at(4)},
            ],
            "core.store_menus": [{"store_id": store, "menu_id": menu} for store in menus for menu in menus[store]],
            "core.menu_price_versions": [
                {"menu_id": menu, "observed_from": at(day)} for menu, day in ((1, 4), (1, 7), (2, 6), (3, None))
            ],
            "workings.menu_offers": [
                offer(1, "3", 4, 7),
                offer(1, "9", 7),
                offer(1, "1", 2, 7, modifier_id=6),
                offer(2, "4", 6, menu_entry_count=2),
                offer(2, "7", 8, product_id=7),
                offer(3, "5", None),
            ],
        },
    )
    assert [
        (
            row["store_id"],
            row["offered_modifier_id"],
            row["menu_id"],
            row["seen_at"] and row["seen_at"].day,
            row["menu_entry_count"],
            [int(price) for price in row["prices"]],
        )
        for row in rows
    ] == [(8, 6, 1, 2, 1, [1]), (8, None, None, None, 3, [3, 4]), (9, 6, 1, 2, 1, [1]), (9, None, 1, 4, 1, [3])]
    assert {(row["offered_product_id"], row["offered_from"], row["offered_until"].day) for row in rows} == {
        (5, None, 4)
    }
