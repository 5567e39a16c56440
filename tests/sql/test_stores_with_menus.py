"""workings.stores_with_menus: since when menus of a store were known, some of them or all."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def at(day: int) -> str:
    """Return noon of a day in October."""
    return f"2026-10-{day:02d}T12:00:00Z"


def seen(menu_id: int, day: int | None) -> dict[str, Any]:
    """Return a price of a menu that was observed since a day in October, or at an unknown time."""
    return {"menu_id": menu_id, "product_id": 5, "price": "3", "observed_from": day and at(day), "is_current": True}


def known(run_table: Run, given: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the intervals since some menu of the store was observed."""
    return [row for row in run_table("workings.stores_with_menus", given) if not row["are_first_seen_later"]]


def test_since_when_a_store_has_a_menu(run_table: Run) -> None:
    """A store's menus are known since the first was observed, since ever where one came without a time; all, or not."""
    rows = known(
        run_table,
        {
            "core.store_menus": [
                {"store_id": 8, "menu_id": 1},
                {"store_id": 9, "menu_id": 1},
                {"store_id": 9, "menu_id": 2},
                {"store_id": 10, "menu_id": 3},
                {"store_id": 11, "menu_id": 1},
                {"store_id": 11, "menu_id": 3},
            ],
            "core.menu_price_versions": [seen(1, 4), seen(1, 3), seen(2, None)],
        },
    )
    third = dt.datetime(2026, 10, 3, 12, tzinfo=dt.UTC)
    assert [(row["store_id"], row["known_from"], row["known_until"], row["are_all_known"]) for row in rows] == [
        (8, third, None, True),
        (9, third, None, True),
        (9, None, third, False),
        (11, third, None, False),
    ]
    assert [(row["are_several"], row["menu_scope_id"]) for row in rows] == [
        (False, 1),
        (True, 9),
        (True, 9),
        (True, 11),
    ]


def test_stores_with_the_same_menus_share_a_set(run_table: Run) -> None:
    """A set has the number of its first store, whatever the order of the menus; another set is another."""
    pairs = ((9, 2), (9, 1), (8, 1), (8, 2), (10, 1), (10, 2), (10, 3), (11, 2))
    rows = known(
        run_table,
        {
            "core.store_menus": [{"store_id": store, "menu_id": menu} for store, menu in pairs],
            "core.menu_price_versions": [seen(menu, 3) for menu in (1, 2, 3)],
        },
    )
    assert [(row["store_id"], row["menu_scope_id"]) for row in rows] == [(8, 8), (9, 8), (10, 10), (11, 2)]


def test_menus_observed_one_after_the_other(run_table: Run) -> None:
    """Some are known from the first to the last of them, all since then; all at once if they were seen together."""
    rows = known(
        run_table,
        {
            "core.store_menus": [
                {"store_id": store, "menu_id": menu} for store, menu in ((8, 1), (8, 2), (9, 2), (9, 3))
            ],
            "core.menu_price_versions": [seen(1, 3), seen(2, 5), seen(3, 5), seen(4, 1)],
        },
    )
    third, fifth = (dt.datetime(2026, 10, day, 12, tzinfo=dt.UTC) for day in (3, 5))
    assert [(row["store_id"], row["known_from"], row["known_until"], row["are_all_known"]) for row in rows] == [
        (8, third, fifth, False),
        (8, fifth, None, True),
        (9, fifth, None, True),
    ]


def test_archive_of_unknown_time_counts_as_seen_before_all(run_table: Run) -> None:
    """A menu seen at an unknown time and again later was known since ever, and is no menu known later."""
    rows = run_table(
        "workings.stores_with_menus",
        {
            "core.store_menus": [{"store_id": 8, "menu_id": 1}],
            "core.menu_price_versions": [seen(1, 3), seen(1, None)],
        },
    )
    assert [(row["known_from"], row["known_until"], row["are_all_known"]) for row in rows] == [(None, None, True)]


def test_until_the_first_menu_was_seen(run_table: Run) -> None:
    """Before the first of its menus, all that a store has are taken as first seen later, from ever to that moment."""
    pairs = [{"store_id": 8, "menu_id": menu} for menu in (1, 2, 3)]
    given = {"core.store_menus": pairs, "core.menu_price_versions": [seen(1, 3), seen(2, 5)]}
    since, before = run_table("workings.stores_with_menus", given)
    assert (before["known_from"], before["known_until"]) == (None, dt.datetime(2026, 10, 3, 12, tzinfo=dt.UTC))
    assert (before["are_first_seen_later"], before["are_all_known"], before["menu_scope_id"]) == (True, False, 8)
    assert since["known_from"] == before["known_until"]
