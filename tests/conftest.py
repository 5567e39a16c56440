"""How the whole suite runs: that each worker takes one thread, little disk and no needless time.

`--share-of-day` leaves a seventh of the tests chosen, by names and the day: in seven days each runs once.
`--begin-within` bounds how long tests marked `slow` or `long` may begin, on a machine that is slower than usual: each
day begins with other files, so that they are not always the same that are left out, and those are named at the end.
A test that needs luck is marked `luck`. At the end stands the time of it all.

Each test begins with the usual umask and clock, which commands may change.

Temporary folders are in memory if there is plenty of it: what tests build is synced hundreds of times, and a killed
process leaves there what it leaves on a disk. TMPDIR or --basetemp chooses another place.
"""

from __future__ import annotations

import datetime as dt
import gc
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from pipelines import clock
from tests import forked

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
forked.no_geopandas()
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
    """Collect no garbage while tests are collected, which keeps all that is made: it takes a fifth of the time.

    Nor is that looked through later, and what else is new as seldom as in a command.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()


STARTED, STARTED_ON = time.monotonic(), dt.datetime.now(tz=dt.UTC).date()
STEP = 37  # files by which a day begins later than the day before
BEGIN_LATE = "its turn was today, and the time was up"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what bounds a run of tests that take long."""
    parser.addoption(
        "--share-of-day", metavar="DAY", help="of the tests chosen a seventh: those of this day, or `today`"
    )
    parser.addoption(
        "--begin-within", metavar="SECONDS", type=float, help="begin no slow test later; print those left out"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count what the run took."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Figures(), "figures")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let all workers have the same day, at midnight too: each reads the command line by itself."""
    node.workerinput["day"] = _day(node.config).isoformat()


def _day(config: pytest.Config) -> dt.date:
    share, worker = config.option.share_of_day, getattr(config, "workerinput", None)
    if worker is not None:
        return dt.date.fromisoformat(worker["day"])
    return STARTED_ON if share in {None, "today"} else dt.date.fromisoformat(share)


def turn_of(name: str, day: dt.date) -> bool:
    """Say whether a test's day has come: one of seven in a row."""
    return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) + day.toordinal()) % 7 == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave those of the day, and begin with another file each day: what was not begun is not always the same."""
    option = config.option
    if option.share_of_day is None and option.begin_within is None:
        return
    day = _day(config)
    if option.share_of_day is not None:
        others = [item for item in items if not turn_of(item.nodeid, day)]
        items[:] = [item for item in items if turn_of(item.nodeid, day)]
        config.hook.pytest_deselected(items=others)
    files = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in items))
    first = day.toordinal() * STEP % max(1, len(files))
    places = {file: number for number, file in enumerate([*files[first:], *files[:first]])}
    items.sort(key=lambda item: places[item.nodeid.partition("::")[0]])


def _may_be_left_out(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    return "long" in marks or ("slow" in marks and "sample" not in marks)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a slow test that would begin too late."""
    limit = item.config.option.begin_within
    if limit is not None and time.monotonic() - STARTED > limit and _may_be_left_out(item):
        pytest.skip(BEGIN_LATE)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that needs luck once more if it fails, with all that it asks for made again, and say why."""
    mark = item.get_closest_marker("luck")
    if mark is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for tries_left in reversed(range(mark.kwargs.get("tries", 2))):
        item._initrequest()  # type: ignore[attr-defined] # as pytest makes each test's fixtures
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not (tries_left and any(report.failed for report in reports)):
            break
        item.user_properties.append(("unlucky", mark.args[0]))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the main process what this one took, with the commands that it waited for."""
    forked.stop()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["seconds"] = _cpu_seconds()


def _cpu_seconds() -> float:
    return sum(os.times()[:4]) + forked.cpu_seconds()


class Figures:
    """What stands at the end of a run: its time, the share of the day, and who was unlucky or late."""

    def __init__(self) -> None:
        self.of_workers: list[float] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Note what a worker took; one that crashed says nothing."""
        self.of_workers.append(getattr(node, "workeroutput", {}).get("seconds", 0.0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Print it."""
        ended = [report for reports in terminalreporter.stats.values() for report in reports]
        names: dict[str, list[str]] = {"of the day": [], "not reached": [], "unlucky": []}
        for report in ended:
            if not isinstance(report, pytest.TestReport):
                continue
            is_late = report.skipped and BEGIN_LATE in str(report.longrepr)
            if (is_late or config.option.share_of_day) and (report.when == "call" or report.outcome != "passed"):
                names["not reached" if is_late else "of the day"].append(report.nodeid)
            unlucky = [reason for name, reason in report.user_properties if name == "unlucky"]
            if unlucky and report.when == "call":
                names["unlucky"].append(f"{report.nodeid} (failed {len(unlucky)} times: {unlucky[0]})")
        for name, tests in names.items():
            for test in sorted(set(tests)):
                terminalreporter.write_line(f"{name}: {test}")
        # Workers are children of this process, too: each said what it took.
        own = sum(os.times()[:2]) + sum(self.of_workers) if self.of_workers else _cpu_seconds()
        terminalreporter.write_line(f"took {own:.0f} s of CPU, {time.monotonic() - STARTED:.0f} s elapsed")
