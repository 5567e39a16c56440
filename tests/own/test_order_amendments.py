"""docs/models/order_amendments.sql: a row per version of an order in which a price differs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

MODEL = "order_amendments"
ORDER = {"order_id": 7, "store_id": 3, "created_at": "2026-11-20T00:30:00Z", "currency": "EUR"}
ORDER |= {"business_date": "2026-11-20"}


def version(version_no: int, total: str | None, lines_version_no: int = 1, **prices: str) -> dict[str, Any]:
    """Return a row of core.order_versions, seen from 2n to 2n + 1 o'clock."""
    return {
        "order_id": 7,
        "version_no": version_no,
        "lines_version_no": lines_version_no,
        "first_seen_at": f"2026-11-20T{2 * version_no:02d}:00:00Z",
        "last_seen_at": f"2026-11-20T{2 * version_no + 1:02d}:00:00Z",
        "total_price": total,
        **prices,
    }


def changed(*fields: tuple[int, str]) -> list[dict[str, Any]]:
    """Return rows of core.order_changes."""
    return [{"order_id": 7, "version_no": version_no, "field": field} for version_no, field in fields]


def test_each_part_of_the_change(run_model: Run) -> None:
    """A version that moved money says by how much each part moved, between which observations, and how late."""
    rows = run_model(
        MODEL,
        {
            "core.order_versions": [
                version(1, "10", tip="1", discount="0"),
                version(2, "8.5", tip="0.5", discount="1"),
            ],
            "core.order_changes": changed((2, "total_price"), (2, "tip"), (2, "discount")),
            "mart.orders": [ORDER],
        },
    )
    [row] = rows
    assert (row["total_change"], row["tip_change"], row["discount_change"], row["subtotal_change"]) == (
        Decimal("-1.5"),
        Decimal("-0.5"),
        Decimal(1),
        None,
    )
    assert (row["previous_total_price"], row["total_price"], row["verdict"]) == (
        Decimal(10),
        Decimal("8.5"),
        "total_lowered",
    )
    assert (row["previous_last_seen_at"].hour, row["first_seen_at"].hour, row["hours_after_creation"]) == (3, 4, 3)
    assert (row["added_line_count"], row["removed_line_count"], row["changed_line_count"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "price", ["subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price"]
)
def test_any_price_amends(run_model: Run, price: str) -> None:
    """Each of the six by itself."""
    given = {
        "core.order_versions": [version(1, "10") | {price: "1"}, version(2, "10") | {price: "2"}],
        "core.order_changes": changed((2, price)),
        "mart.orders": [ORDER],
    }
    (row,) = run_model(MODEL, given)
    assert row[f"{price.removesuffix('_price')}_change"] == 1


def test_only_money(run_model: Run) -> None:
    """A version in which no price differs is no amendment; a total that came or went is indeterminate."""
    rows = run_model(
        MODEL,
        {
            "core.order_versions": [
                version(1, "10"),
                version(2, "10"),
                version(3, None),
                version(4, "12"),
                version(5, "13"),
            ],
            "core.order_changes": changed((2, "status"), (3, "total_price"), (4, "total_price"), (5, "total_price")),
            "mart.orders": [ORDER],
        },
    )
    assert [(row["version_no"], row["verdict"]) for row in rows] == [
        (3, "indeterminate"),
        (4, "indeterminate"),
        (5, "total_raised"),
    ]


def test_lines_by_their_ids(run_model: Run) -> None:
    """Lines are matched by id, the n-th with the n-th of an id: one came, one went, and two differ."""

    def line(lines_version_no: int, line_no: int, line_id: int | None, price: str = "1") -> dict[str, Any]:
        place = {"order_id": 7, "lines_version_no": lines_version_no, "line_no": line_no}
        return place | {"line_id": line_id, "price": price}

    def modifier(lines_version_no: int, line_no: int, quantity: int) -> dict[str, Any]:
        place = {"order_id": 7, "lines_version_no": lines_version_no, "line_no": line_no}
        return place | {"modifier_no": 1, "modifier_id": 5, "quantity": quantity}

    rows = run_model(
        MODEL,
        {
            "core.order_versions": [version(1, "10", 1), version(2, "9", 2)],
            "core.order_changes": changed((2, "total_price"), (2, "items")),
            "core.order_line_versions": [
                *(line(1, 1, 20), line(1, 2, 21), line(1, 3, 22), line(1, 4, None), line(1, 5, None)),
                *(line(2, 1, 30), line(2, 2, 20, "2"), line(2, 3, 22), line(2, 4, None), line(2, 5, None)),
            ],
            "core.order_line_modifier_versions": [modifier(1, 3, 1), modifier(2, 3, 2)],
            "mart.orders": [ORDER],
        },
    )
    [row] = rows
    assert (row["added_line_count"], row["removed_line_count"], row["changed_line_count"]) == (1, 1, 2)


def test_a_change_after_the_close_is_flagged(run_model: Run) -> None:
    """A version first seen after its day was closed is flagged; none of a day that is open."""

    def flags(closed_at: str | None, first_seen_at: str | None = "2026-11-20T06:00:00Z") -> list[bool | None]:
        day = {"business_date": "2026-11-20", "store_id": 3, "closed_at": closed_at}
        closes = [day | {"measure": measure} for measure in ("tip", "total_price")] if closed_at else []
        rows = run_model(
            MODEL,
            {
                "core.order_versions": [
                    version(1, "10"),
                    version(2, "9"),
                    version(3, "8") | {"first_seen_at": first_seen_at},
                ],
                "core.order_changes": changed((2, "total_price"), (3, "total_price")),
                "mart.orders": [ORDER],
                "mart.closed_days": closes,
            },
        )
        return [row["was_closed"] for row in rows]

    assert flags(None) == [False, False]
    assert flags("2026-11-20T05:00:00Z") == [False, True]
    assert flags("2026-11-20T05:00:00Z", None) == [False, None]
