"""docs/models/menu_price_changes.sql: prices of menus that changed, and units sold before and after."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

NOON = "2026-01-10 12:00:00+00"


def price(amount: str | None, since: str | None, until: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of core.menu_price_versions: product 5 of menu 1, in channel both."""
    place = {"menu_id": 1, "group_no": 1, "price_no": 1, "product_id": 5, "channel": "both"}
    times = {"observed_from": since, "change_seen_at": until}
    return place | {"price": amount, "delivery_price": "6"} | times | more


def sold(date: str | None, units: int | None, **more: Any) -> dict[str, Any]:
    """Return a row of mart.product_mix: store 7, product 5, counted."""
    row = {"store_id": 7, "business_date": date, "sale_class": "counted", "product_id": 5, "unit_count": units}
    return row | more


def changes(run_model: Run, versions: list[dict[str, Any]], *mix: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changes of menus that store 7 has."""
    menus = [{"store_id": 7, "menu_id": 1}]
    given = {"core.menu_price_versions": versions, "core.store_menus": menus, "mart.product_mix": list(mix)}
    return run_model("menu_price_changes", given)


def test_price_before_and_after(run_model: Run) -> None:
    """A change has both prices, and the units of up to 28 days on either side, its own day and other classes aside."""
    mix = [
        sold("2025-12-12", 100),
        sold("2025-12-13", 1000),
        sold("2026-01-09", 3),
        sold("2026-01-09", 50, sale_class="deleted"),
        sold("2026-01-09", 60, store_id=8),
        sold("2026-01-09", None, product_id=6),
        sold("2026-01-10", 70),
        sold("2026-01-11", 4),
        sold("2026-02-07", 5),
        sold("2026-02-08", 2000),
        sold(None, 80),
    ]
    (row,) = changes(run_model, [price("5", None, NOON), price("5.5", NOON, None)], *mix)
    assert (row["previous_price"], row["price"]) == (Decimal(5), Decimal("5.5"))
    assert (row["unit_count_before"], row["day_count_before"]) == (1003, 28)
    assert (row["unit_count_after"], row["day_count_after"]) == (9, 28)
    assert (row["units_per_day_before"], row["units_per_day_after"]) == (1003 / 28, 9 / 28)


def test_days_compared_end_at_the_next_change(run_model: Run) -> None:
    """Units sold at another price count on neither side, not even of a price changed twice in a day."""
    later, evening = "2026-01-15 12:00:00+00", "2026-01-15 20:00:00+00"
    versions = [price("5", None, NOON), price("6", NOON, later), price("7", later, evening), price("8", evening, None)]
    mix = [sold("2026-01-08", 1), sold("2026-01-09", 10), *(sold(f"2026-01-{day}", 100) for day in range(10, 19))]
    rows = changes(run_model, versions, *mix)
    assert [
        (row["day_count_before"], row["unit_count_before"], row["day_count_after"], row["unit_count_after"])
        for row in rows
    ] == [(2, 11, 4, 400), (4, 400, 0, 0), (0, 0, 3, 300)]


def test_what_is_no_change(run_model: Run) -> None:
    """A price that only moved to another place, came, went, or is one of several in its channel has no row."""
    moved = [price("5", None, NOON), price("5", NOON, None, price_no=2)]
    came_and_went = [price("5", None, NOON, product_id=6), price("5", NOON, None, product_id=8)]
    several = [price("5", None, NOON), price("6", None, NOON, group_no=2), price("7", NOON, None)]
    other_channel = [price("5", None, NOON, channel="pick_up"), price("6", NOON, None, channel=None)]
    for versions in (moved, came_and_went, several, other_channel):
        assert changes(run_model, versions) == []


def test_delivery_price_and_no_sales(run_model: Run) -> None:
    """Another delivery price, or a price that is no longer stated, is a change; without sales there are no days."""
    rows = changes(
        run_model,
        [
            price("5", None, NOON, channel=None),
            price("5", NOON, None, channel=None, delivery_price="7"),
            price("5", None, NOON),
            price(None, NOON, None),
        ],
    )
    assert [(row["channel"], row["price"], row["delivery_price"]) for row in rows] == [
        ("both", None, Decimal(6)),
        (None, Decimal(5), Decimal(7)),
    ]
    assert {(row["unit_count_before"], row["day_count_before"], row["day_count_after"]) for row in rows} == {(0, 0, 0)}
    assert {row["units_per_day_after"] for row in rows} == {None}
