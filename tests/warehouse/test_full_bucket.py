"""How many orders a full build takes at once, and what it does where memory does not suffice for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pytest

from benchmarks.raw_world import KIND, make_raw
from pipelines.landing.raw_folder import raw_files
from pipelines.settings import load_settings
from pipelines.warehouse.building.buckets import joined_as_written
from pipelines.warehouse.building.build import ORDERS_PER_BUCKET, ROW_GROUP, MemoryLimitError, build, orders_per_bucket
from pipelines.warehouse.rows.session import session

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

LARGE = {"most_lines": 20, "most_modifiers": 12}  # orders of 10 lines and 60 modifiers, as a rule


def landed(folder: Path, orders: int, *, most: dict[str, int] | None = None, **warehouse: str | int) -> Settings:
    """Land orders as the benchmark of builds makes them, and return settings with these of [warehouse]."""
    make_raw(folder / "data", orders, shape=replace(KIND, **(most or {})))
    config = folder / "ordermart.toml"
    config.write_text("[warehouse]\n" + "".join(f"{key} = {value!r}\n" for key, value in warehouse.items()), "utf-8")
    return load_settings(config, {})


def at_once(settings: Settings) -> int:
    """Return how many orders go at once by these settings."""
    raw = {"orders": raw_files(settings.data_dir, "orders")}
    with session(settings) as con:
        return orders_per_bucket(con, raw, settings.warehouse.buckets)


@pytest.mark.duckdb2
def test_a_bucket_is_joined_as_written() -> None:
    """The right side of a join is held, however long it seems; DuckDB chooses again afterwards."""
    with duckdb.connect() as con:
        con.execute("create table few as from range(10) as t (id); create table many as from range(100_000) as t (id)")

        def held() -> str:
            ((_, plan),) = con.execute("explain select count(*) from few inner join many using (id)").fetchall()
            return max(("few", "many"), key=lambda name: plan.index(f".{name}"))  # written last: on the right

        assert held() == "few"
        with joined_as_written(con):
            assert held() == "many"
        assert held() == "few"


@pytest.mark.slow
@pytest.mark.duckdb2
def test_large_orders_go_fewer_at_once(tmp_path: Path) -> None:
    """Two row groups of common orders go at once; fewer where orders are large, or memory is small."""
    assert at_once(landed(tmp_path / "common", 2000)) == ORDERS_PER_BUCKET
    assert at_once(landed(tmp_path / "little", 2000, memory_limit="700MB")) == ROW_GROUP
    assert 50_000 < at_once(landed(tmp_path / "less", 2000, memory_limit="200MB")) < 70_000
    assert 20_000 < at_once(landed(tmp_path / "large", 2000, most=LARGE, memory_limit="850MB")) < 40_000


@pytest.mark.slow
def test_memory_that_never_suffices_is_said(tmp_path: Path) -> None:
    """A limit below what even small parts take ends the build with the setting to raise; nothing is left behind."""
    settings = landed(tmp_path, 2000, memory_limit="30MB")
    with pytest.raises(MemoryLimitError, match=r"\[warehouse\] memory_limit = '30MB' does not suffice; raise it"):
        build(settings)
    assert [each.name for each in (tmp_path / "data" / "warehouse").iterdir()] == ["spill"]


@pytest.mark.long
def test_parts_become_smaller_until_memory_suffices(tmp_path: Path) -> None:
    """Orders that do not fit at once are built in four times as many parts, and the build says so."""
    orders = 8_000
    result = build(landed(tmp_path, orders, most=LARGE, buckets=1, memory_limit="150MB"))
    assert result.why == "memory did not suffice: orders go in 4 times as many parts"
    assert result.rows["mart.orders"] == orders


@pytest.mark.long
def test_a_full_bucket_fits_in_memory(tmp_path: Path) -> None:
    """A bucket of orders whose every line and modifier is on a menu builds in the least memory of the default."""
    orders = ORDERS_PER_BUCKET + 1
    result = build(landed(tmp_path, orders, memory_limit="850MB"))
    assert (result.why, result.rows["mart.orders"]) == ("there was no warehouse yet", orders)
    with duckdb.connect(str(tmp_path / "data" / "warehouse" / "warehouse.duckdb"), read_only=True) as con:
        matches = con.execute("select menu_match, count(*) from mart.price_variances group by 1").fetchall()
    sold = result.rows["core.order_lines"] + result.rows["core.order_line_modifiers"]
    assert matches == [("unique", sold)]
