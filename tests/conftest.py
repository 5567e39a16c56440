"""How the whole suite runs: that each worker takes one thread, little disk and no needless time.

Each test begins with the usual umask and clock, which commands may change.

Temporary folders are in memory if there is plenty of it: what tests build is synced hundreds of times, and a killed
process leaves there what it leaves on a disk. TMPDIR or --basetemp chooses another place.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from pipelines import clock

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, which keeps all that is made: it takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
