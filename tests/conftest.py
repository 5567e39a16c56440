"""How the whole suite runs: worlds are tiny and workers many, so each takes one thread and, where it can, no disk.

Temporary folders lie in memory where there is plenty of it: what tests build is synced hundreds of times, and a process
that is killed leaves there what it leaves on a disk. TMPDIR or --basetemp chooses another place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
PLENTY = 8 * 2**30  # bytes; all that the tests leave until they end is less than half of it


def _has_plenty() -> bool:
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            available = next(line for line in file if line.startswith("MemAvailable:"))
        return min(shutil.disk_usage(MEMORY).free, int(available.split()[1]) * 1024) >= PLENTY
    except (OSError, StopIteration):
        return False


# A query over a hundred rows costs more when its parts are handed to other threads.
os.environ.setdefault("ORDERMART_WAREHOUSE__THREADS", "1")
# Nights verify only where a test asks for it: it takes as long as a build.
os.environ.setdefault("ORDERMART_VERIFY__SECONDS", "0")
if "TMPDIR" not in os.environ and _has_plenty():
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # asked for before this file was read
