"""A full build of more orders than one bucket holds, within the memory that DuckDB may use unless told otherwise."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb
import pytest

from pipelines.settings import load_settings
from pipelines.warehouse import build
from pipelines.warehouse.full import ORDERS_PER_BUCKET

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "build.py"


@pytest.mark.slow
def test_a_full_bucket_fits_in_memory(tmp_path: Path) -> None:
    """A bucket of orders whose every line and modifier stands on a menu builds by the default settings."""
    spec = importlib.util.spec_from_file_location("benchmark_of_builds", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    orders = ORDERS_PER_BUCKET + 1
    benchmark.make_raw(tmp_path / "data", orders)
    config = tmp_path / "ordermart.toml"
    config.write_text("", encoding="utf-8")
    result = build(load_settings(config, {}))
    assert result.rows["mart.orders"] == orders
    with duckdb.connect(str(tmp_path / "data" / "warehouse" / "warehouse.duckdb"), read_only=True) as con:
        matches = con.execute("select menu_match, count(*) from mart.price_variances group by 1").fetchall()
    sold = result.rows["core.order_lines"] + result.rows["core.order_line_modifiers"]
    assert matches == [("unique", sold)]
