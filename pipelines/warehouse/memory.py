"""How much memory DuckDB may take: by the settings, or a share of the free memory of this machine or container."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

SHARE = 0.4  # of the available memory: the process takes more than DuckDB counts, and others run beside it
LEAST_BYTES = 850_000_000
AUTO = "auto"


def memory_limit(settings: Settings, system: Path = Path("/")) -> str:
    """Return DuckDB's memory limit as DuckDB reads it; `system` is where /proc and /sys are."""
    configured = settings.warehouse.memory_limit
    if configured != AUTO:
        return configured
    available = min(_available(system), default=0)
    return f"{max(LEAST_BYTES, int(available * SHARE)) // 1_000_000}MB"


def _available(system: Path) -> Iterator[int]:
    """Yield the bytes that are left to the machine, and to each kind of control group that limits this process."""
    with suppress(OSError, ValueError, StopIteration):
        lines = (system / "proc/meminfo").read_text(encoding="ascii").splitlines()
        yield int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    for limit, used in (
        ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # no such group, or "max": no limit
            yield max(0, int((system / limit).read_text()) - int((system / used).read_text()))
