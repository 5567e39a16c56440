"""workings.menu_set_offers: the prices that several menus of a store ask together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.sql.offers import offer

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def offers(run_table: Run, *given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the offers of stores 8 and 9 with menus 1 and 2; store 7 has menu 1 alone."""
    several, single = {"are_several": True, "menu_scope_id": 8}, {"are_several": False, "menu_scope_id": 1}
    menus = [(7, 1), *((store, menu) for store in (8, 9) for menu in (1, 2))]
    rows = run_table(
        "workings.menu_set_offers",
        {
            "workings.stores_with_menus": [
                {"store_id": 7} | single,
                *({"store_id": each} | several for each in (8, 9)),
            ],
            "core.store_menus": [{"store_id": store, "menu_id": menu} for store, menu in menus],
            "workings.menu_offers": list(given),
        },
    )
    assert {row["menu_set_no"] for row in rows} <= {8}
    return [
        (
            row["offered_from"] and row["offered_from"].day,
            row["offered_until"] and row["offered_until"].day,
            row["menu_id"],
            row["seen_at"] and row["seen_at"].day,
            row["menu_entry_count"],
            [int(price) for price in row["prices"]],
        )
        for row in sorted(rows, key=lambda row: str(row["offered_from"] or ""))
    ]


def test_a_set_asks_what_each_of_its_menus_asks(run_table: Run) -> None:
    """An interval for each change of either menu; one alone is named, with when it was seen."""
    assert offers(run_table, offer(1, "3", 2, 7), offer(1, "9", 7), offer(2, "4", 5, 8), offer(3, "5", 1)) == [
        (2, 5, 1, 2, 1, [3]),
        (5, 7, None, None, 2, [3, 4]),
        (7, 8, None, None, 2, [4, 9]),
        (8, None, 1, 7, 1, [9]),
    ]


def test_a_time_that_is_unknown_is_before_all(run_table: Run) -> None:
    """An offer of an archive without a time holds from ever; a modifier is apart from its product."""
    assert offers(run_table, offer(1, "3", None)) == [(None, None, 1, None, 1, [3])]
    below = offer(2, "1", 4, modifier_id=6)
    assert offers(run_table, offer(1, "3", 2), below) == [(2, None, 1, 2, 1, [3]), (4, None, 2, 4, 1, [1])]
    assert offers(run_table) == []
