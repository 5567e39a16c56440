"""workings.order_rule_settings: which rules the settings name for an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {
    "order_id": 1,
    "platform": "web",
    "dispatch_method": "pick_up",
    "store_id": 7,
    "status": "ready",
    "business_date": "2026-10-31",
}


def test_the_most_specific_setting_holds(run_table: Run) -> None:
    """Of settings about an order the one with most conditions, of equals the last; others are not about it."""
    settings = [
        {"setting_no": 1, "rule_target": "total"},
        {"setting_no": 2, "rule_target": "total", "platform": "web", "first_day": "2026-10-01"},
        {"setting_no": 3, "rule_target": "total", "platform": "web", "last_day": "2026-10-31"},
        {"setting_no": 4, "rule_target": "total", "platform": "web", "store_id": 7, "status": "cancelled"},
        {"setting_no": 5, "rule_target": "total", "platform": "ios"},
        {"setting_no": 6, "rule_target": "subtotal", "store_id": 8},
    ]
    (row,) = run_table("workings.order_rule_settings", {"mart.orders": [ORDER], "raw.formula_settings": settings})
    assert (row["subtotal_setting_no"], row["total_setting_no"]) == (None, 3)


@pytest.mark.parametrize("target", ["subtotal", "total"])
def test_every_condition_counts_once(run_table: Run, target: str) -> None:
    """Five conditions beat four, whatever their order; a first and a last day are one condition."""
    whole = {"platform": "web", "dispatch_method": "pick_up", "store_id": 7, "status": "ready"}
    days = {"first_day": "2026-10-31", "last_day": "2026-10-31"}
    settings = [{"setting_no": 1, **whole, **days}, {"setting_no": 2, **whole}, {"setting_no": 3, **days}]
    found = [{"rule_target": target, **setting} for setting in settings]
    (row,) = run_table("workings.order_rule_settings", {"mart.orders": [ORDER], "raw.formula_settings": found})
    other = {"subtotal": "total", "total": "subtotal"}[target]
    assert (row[f"{target}_setting_no"], row[f"{other}_setting_no"]) == (1, None)


@pytest.mark.parametrize("name", ["platform", "dispatch_method", "store_id", "status", "first_day"])
def test_one_condition_beats_none(run_table: Run, name: str) -> None:
    """Any of them is more about an order than the plain rule, though that comes later."""
    value = {"first_day": "2026-10-01"}.get(name, ORDER.get(name))
    settings = [
        {"setting_no": 1, "rule_target": "total", name: value},
        {"setting_no": 2, "rule_target": "total"},
    ]
    (row,) = run_table("workings.order_rule_settings", {"mart.orders": [ORDER], "raw.formula_settings": settings})
    assert row["total_setting_no"] == 1


def test_order_without_a_setting_is_a_row(run_table: Run) -> None:
    """It has no number of either target."""
    (row,) = run_table("workings.order_rule_settings", {"mart.orders": [ORDER]})
    assert (row["order_id"], row["subtotal_setting_no"], row["total_setting_no"]) == (1, None, None)
