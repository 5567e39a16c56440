"""Worlds of other shapes than ours build at default settings, within the checks, and add up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks.raw_world import SHAPES, make_raw
from pipelines.report.outcomes import costs
from pipelines.settings import load_settings
from pipelines.warehouse.building.build import build
from pipelines.warehouse.rows.session import DOCUMENTS, profiled

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = 600
SMALL = {"many_stores": {"stores": 12, "store": "id // 50"}, "huge_menus": {"stores": 2, "products": 1000}}
ALIKE = {"one_store", "five_years"}  # they have the same orders as others, of one store or on more days
SMALL["huge_menus"]["store"] = "pick(id, 6, 2)"


@pytest.mark.slow
@pytest.mark.duckdb2
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in ALIKE)) for n in SHAPES])
def test_a_world_of_any_shape_builds(name: str, tmp_path: Path) -> None:
    """Every order is there, no blocking check finds anything, and each table's cost is known."""
    shape = replace(SHAPES[name], **SMALL.get(name, {}))
    if shape.stores == 200:
        shape = replace(shape, stores=20, store="pick(id, 6, 20)")
    make_raw(tmp_path / "data", ORDERS, shape=shape, per_load=ORDERS)
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    with profiled() as profile:
        result = build(load_settings(tmp_path / "ordermart.toml", {}))
    assert result.rows["core.orders"] == ORDERS
    assert result.rows["core.order_versions"] == ORDERS * shape.versions
    assert not [check for check in result.checks if check.severity == "blocking" and check.violations]
    assert {"core.orders", "mart.order_reconciliation", DOCUMENTS} <= profile.keys()
    assert all(cost.clock_ns > 0 and cost.peak > 1 << 20 for cost in profile.values())
    assert "Most memory: " in "\n".join(costs(profile))
