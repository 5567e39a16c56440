"""Measure what each table of a build costs: seconds, processor time, memory."""

from __future__ import annotations

import resource
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Steps that make no table: observations put in order, documents given types.
OBSERVATIONS, DOCUMENTS = "(observations)", "(documents)"
_RESET_PEAK = "5"  # written to clear_refs: proc_pid_clear_refs(5)
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """What one table or check took in all its parts; `peak` is the most memory of the process meanwhile, in bytes."""

    clock_ns: int = 0
    cpu_ns: int = 0
    peak: int = 0


Profile = dict[str, Cost]  # by the name of a table or check
_CURRENT: ContextVar[Profile | None] = ContextVar("profile", default=None)


@contextmanager
def profiled() -> Iterator[Profile]:
    """Measure all that is built in this block."""
    profile: Profile = {}
    token = _CURRENT.set(profile)
    try:
        yield profile
    finally:
        _CURRENT.reset(token)


@contextmanager
def measured(name: str) -> Iterator[None]:
    """Add what this block costs to `name`, where a build is profiled."""
    if _CURRENT.get() is None:
        yield
        return
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    clock, cpu = time.perf_counter_ns(), time.process_time_ns()
    yield
    add_costs({name: Cost(time.perf_counter_ns() - clock, time.process_time_ns() - cpu, _peak())})


def add_costs(other: Profile) -> None:
    """Add what was measured, perhaps in another process, where a build is profiled."""
    profile = _CURRENT.get()
    if profile is None:
        return
    for name, cost in other.items():
        known = profile.setdefault(name, Cost())
        known.clock_ns += cost.clock_ns
        known.cpu_ns += cost.cpu_ns
        known.peak = max(known.peak, cost.peak)


def _peak() -> int:
    """Return the largest memory of this process since it was last reset; of all its life where Linux does not tell."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
