"""How the whole suite runs: which slow tests run by default, and that each worker takes one thread and little disk.

Each test begins with the usual umask and clock, which commands may change.

Temporary folders are in memory if there is plenty of it: what tests build is synced hundreds of times, and a killed
process leaves there what it leaves on a disk. TMPDIR or --basetemp chooses another place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from pipelines import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

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
# A busy machine may take any time for an example.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Restore the umask, which commands run in this process narrow."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def _usual_clock(_clock_of_module: None) -> Iterator[None]:
    """Restore the clock, which commands run in this process with the demo's settings shift."""
    before = clock._shift
    yield
    clock._shift = before


@pytest.fixture(autouse=True, scope="module")
def _clock_of_module() -> Iterator[None]:
    """Do the same for what fixtures of a module run."""
    before = clock._shift
    yield
    clock._shift = before


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one test run by default of each file that has only slow tests: one marked as its sample, else the first."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    for tests in files.values():
        short = [test for test in tests if not test.get_closest_marker("long")]
        marked = [test for test in short if test.get_closest_marker("sample")]
        chosen = (marked or short)[:1] if all(test.get_closest_marker("slow") for test in short) else []
        for test in tests:
            test.own_markers = [mark for mark in test.own_markers if mark.name != "sample"]
        for test in chosen:
            test.add_marker("sample")
