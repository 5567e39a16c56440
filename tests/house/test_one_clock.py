"""What time it is is asked in one place, so that the demo can play at the time of its world."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = re.compile(r"datetime\.now\(|date\.today\(|\butcnow\(")
# The clock itself, and what compares with times of Dagster's own records.
MACHINES = {
    "clock.py",
    "assets/dev.py",
    "assets/maintenance_asset.py",
    "assets/run_alarms.py",
    "assets/warehouse.py",
}


def asking(pipelines: Path) -> list[str]:
    """Return the modules that ask the machine for the time; the sandbox has a clock of its own."""
    found = (file.relative_to(pipelines).as_posix() for file in sorted(pipelines.rglob("*.py")) if _asks(file))
    return [name for name in found if name not in MACHINES and not name.startswith("sandbox/")]


def _asks(file: Path) -> bool:
    return CLOCK.search(file.read_text(encoding="utf-8")) is not None


def test_only_the_clock_asks_the_machine(project: Path) -> None:
    """Every other module asks pipelines.clock.utc_now."""
    assert asking(project / "pipelines") == []


def test_a_module_that_asks_the_machine_is_found(tmp_path: Path) -> None:
    """A planted call is named."""
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "chain.py").write_text("at = dt.datetime.now(dt.UTC)\n")
    (tmp_path / "clock.py").write_text("at = dt.datetime.now(dt.UTC)\n")
    assert asking(tmp_path) == ["ledger/chain.py"]
