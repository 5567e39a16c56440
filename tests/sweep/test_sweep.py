"""The shim counts operations of every library, fails or kills at one of them, and records what it saw.

A sample of the sweeps as well; the whole of them: `python -m tests.sweep --all`, `python -m tests.sweep --power --all`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sweep.bench import MODES, ROOT, SHIM, Bench, NoCompiler, bench
from tests.sweep.disk import Disk, Folder, recorded
from tests.sweep.points import all_points, sample, sweep
from tests.sweep.power import lose_power, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ORDERS = 6
# A program that writes by Python, SQLite, Arrow and DuckDB, once the shim is armed.
SCRIPT = """
import ctypes, os, shutil, sqlite3, sys
from pathlib import Path
import duckdb, pandas, pyarrow as pa, pyarrow.parquet as pq
folder, mode, at, trace, record = sys.argv[1:]
files = [os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in (trace, record)]
ctypes.CDLL(None).sweep_arm(folder.encode(), int(mode), ctypes.c_long(int(at)), *files)
folder = Path(folder)
(folder / "made").mkdir()
(folder / "made" / "text.tmp").write_bytes(b"0123456789")
descriptor = os.open(folder / "made" / "text.tmp", os.O_RDONLY)
os.fsync(descriptor)
os.close(descriptor)
(folder / "made" / "text.tmp").rename(folder / "made" / "text")
os.link(folder / "made" / "text", folder / "linked")
(folder / "current").symlink_to("made")
(folder / "other.lock").write_bytes(b"not counted")
shutil.copyfile(folder / "made" / "text", folder / "copied")
pq.write_table(pa.table({"n": [1]}), folder / "made" / "arrow.parquet")
db = sqlite3.connect(folder / "lite.sqlite")
db.execute("create table t (n)")
db.close()
with duckdb.connect(str(folder / "duck.duckdb")) as con:
    con.execute("create table t as select 1 as n")
(folder / "linked").unlink()
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the shim; skip without a C compiler."""
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    if not shutil.which("cc") or sys.platform != "linux":
        pytest.skip("there is no C compiler, or no LD_PRELOAD")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(built), str(SHIM), "-ldl", "-lpthread"], check=True)
    return built


@pytest.fixture
def run(shim: Path, tmp_path: Path) -> Callable[..., tuple[Path, subprocess.CompletedProcess[str], list[str]]]:
    """Give `run(mode, at)`: the folder, how the program ended, and the operations as name, tab, path."""

    def start(mode: int = 0, at: int = 0) -> tuple[Path, subprocess.CompletedProcess[str], list[str]]:
        folder = tmp_path / f"{mode}-{at}"
        folder.mkdir()
        trace, record = tmp_path / "trace", tmp_path / "record"
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder), str(mode), str(at), str(trace), str(record)],
            env={**os.environ, "LD_PRELOAD": str(shim)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return folder, done, [line.partition("\t")[2] for line in trace.read_text().splitlines()]

    return start


@pytest.mark.slow
def test_operations_of_every_library_are_seen_and_recorded(run: Callable[..., tuple], tmp_path: Path) -> None:
    """Python's, Arrow's, SQLite's and DuckDB's operations are counted; what was recorded makes the same files."""
    folder, done, seen = run()
    assert done.returncode == 0, done.stderr
    for operation in (
        "mkdir\tmade",
        "create\tmade/text.tmp",
        "write\tmade/text.tmp",
        "sync\tmade/text.tmp",
        "rename\tmade/text",
        "link\tlinked",
        "link\tcurrent",
        "write\tcopied",
        "write\tmade/arrow.parquet",
        "write\tlite.sqlite",
        "sync\tlite.sqlite",
        "write\tduck.duckdb",
        "sync\tduck.duckdb",
        "unlink\tlinked",
    ):
        assert operation in seen
    assert not [operation for operation in seen if ".lock" in operation]
    empty = tmp_path / "empty"
    empty.mkdir()
    disk = Disk(empty)
    for operation in recorded(tmp_path / "record"):
        disk.apply(operation)
    disk.write(empty, "named")  # only what was synced
    assert (empty / "made" / "arrow.parquet").read_bytes() == b""
    assert (empty / "current").readlink() == Path("made")
    _let_all_be_synced(disk.top)
    copy = tmp_path / "copy"
    copy.mkdir()
    disk.write(copy, "named")
    names = {path.relative_to(folder) for path in folder.rglob("*") if path.suffix != ".lock"}
    assert {path.relative_to(copy) for path in copy.rglob("*")} == names
    for path in (path for path in names if (folder / path).is_file()):
        assert (copy / path).read_bytes() == (folder / path).read_bytes(), path


def _let_all_be_synced(folder: Folder) -> None:
    for node in folder.names.values():
        node.sync()
        if isinstance(node, Folder):
            _let_all_be_synced(node)


@pytest.mark.slow
def test_modes_fail_and_kill_at_the_operation(run: Callable[..., tuple]) -> None:
    """A kill does half of the write, an I/O error fails it alone, and a full disk stays full."""
    seen = run()[2]
    at = seen.index("write\tmade/text.tmp") + 1
    folder, done, _ = run(MODES["kill"], at)
    assert done.returncode == -9
    assert (folder / "made" / "text.tmp").read_bytes() == b"01234"
    _, done, _ = run(MODES["broken"], at)
    assert "Input/output error" in done.stderr
    at = seen.index("sync\tmade/text.tmp") + 1
    folder, done, _ = run(MODES["full"], at)
    assert "No space left on device" in done.stderr
    assert (folder / "made" / "text").read_bytes() == b"0123456789"
    assert not (folder / "linked").exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give a world with few orders, one night old."""
    try:
        with bench(tmp_path_factory.mktemp("sweep") / "bench", ORDERS) as made:
            made.expect()
            yield made
    except NoCompiler as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_faults_at_some_points_lose_nothing(small: Bench) -> None:
    """A point of each of two stages, killed, full or broken: the next night gives the same tables."""
    points = {point.stage: point for point in sample(all_points(small.seen), 1)}
    tally = sweep(small, [points["ingest"], points["release"]])
    assert tally.lost == []
    assert tally.done.total() == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_losses_of_power_at_some_states_lose_nothing(small: Bench) -> None:
    """A state of a night after a loss of power: the next night gives the same tables."""
    found = lose_power(small, most=1)
    assert found.lost == []
    assert found.done.total() == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_missing_sync_is_found(small: Bench) -> None:
    """With files put in place without a sync, some loss of power is a loss: the sweep would say so."""
    small.fresh(small.base)
    night = {}
    for stage in ("webhooks", "ingest"):
        record = small.folder / f"planted-{stage}"
        assert "error" not in small.job("stage", stage=stage, record=str(record), plant="no sync")
        night[stage] = recorded(record)
    for state, disk in replay(small, night):
        if state.loss == "named" and state.operation.startswith("r\tdata/raw/observations/orders"):
            shutil.rmtree(small.place)
            small.place.mkdir()
            disk.write(small.place, state.loss)
            assert small.differences(state.stage)
            return
    pytest.fail("no state after the rename of a raw file")


def sweep_vault(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the sweep; skip without a C compiler."""
    command = [sys.executable, "-m", "tests.sweep.vault", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode == 2:
        pytest.skip(done.stdout)
    return done


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_lose_nothing() -> None:
    """Killed at an operation each, the commands come to the state that they come to without a kill."""
    done = sweep_vault("--most", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("killed at 1 of them, 0 lost") == 3


@pytest.mark.long
def test_losses_of_power_in_the_vault_lose_nothing() -> None:
    """The same after a loss of power each."""
    done = sweep_vault("--power", "--most", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 of them tried, 0 lost") == 3


@pytest.mark.slow
@pytest.mark.parametrize("command", [pytest.param("erase", marks=pytest.mark.long), "rotate"])
def test_planted_faults_are_found(command: str) -> None:
    """An erasure that is noted before it was applied, and a rotation without a transaction, lose something."""
    done = sweep_vault("--each", "6", "--most", "30", "--on", "vault.sqlite-wal", "--plant", "--only", command)
    assert (done.returncode, "LOST at" in done.stdout) == (1, True), done.stdout + done.stderr
