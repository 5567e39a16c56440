"""How much memory a build may take follows the machine, unless the settings say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.settings import load_settings
from pipelines.warehouse.storage import memory_limit

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30


def machine(folder: Path, available: int, group: str = "", used: int = 0) -> Path:
    """Write what Linux says of its memory, and of the control group's."""
    for name, text in (
        ("proc/meminfo", f"MemTotal: 99999999 kB\nMemAvailable: {available // 1024} kB\n"),
        ("sys/fs/cgroup/memory.max", group),
        ("sys/fs/cgroup/memory.current", str(used)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")
    return folder


@pytest.mark.parametrize(
    ("available", "group", "used", "limit"),
    [
        (10 * GIB, "max", 0, "4294MB"),
        (10 * GIB, str(5 * GIB), GIB, "1717MB"),  # the container has less than the machine
        (GIB, "max", 0, "850MB"),  # never less: a build spills
        (10 * GIB, str(GIB), 2 * GIB, "850MB"),
    ],
)
def test_auto_is_a_share_of_what_is_left(tmp_path: Path, available: int, group: str, used: int, limit: str) -> None:
    """Two fifths of the least that the machine and the container have left, at least 850 MB."""
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(tmp_path / "ordermart.toml", {})
    assert settings.warehouse.memory_limit == "auto"
    assert memory_limit(settings, machine(tmp_path, available, group, used)) == limit
    with duckdb.connect(config={"memory_limit": memory_limit(settings)}) as con:
        assert con.execute("select 1").fetchone() == (1,)


def test_where_nothing_is_known_it_is_the_least(tmp_path: Path) -> None:
    """A system without /proc takes 850 MB."""
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    assert memory_limit(load_settings(tmp_path / "ordermart.toml", {}), tmp_path) == "850MB"


def test_a_cap_is_taken_as_it_is(tmp_path: Path) -> None:
    """DuckDB gets the limit of the settings."""
    settings = load_settings(None, {"ORDERMART_WAREHOUSE__MEMORY_LIMIT": "1.5 GiB"})
    assert memory_limit(settings, machine(tmp_path, 10 * GIB)) == "1.5 GiB"
