"""A long archive: every form of file, in parts, once whatever is killed when, and marked as long past."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipelines.landing.archives import LandingRequest, backfill
from pipelines.landing.raw_folder import LandingError, raw_files
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

if TYPE_CHECKING:
    from pipelines.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings with a data folder of their own."""
    new_key_file(tmp_path / "keys.json")
    environ = {
        "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"),
        "ORDERMART_DATA__DIR": str(tmp_path / "data"),
    }
    return load_settings(environ=environ)


def order(id_: int, **fields: Any) -> dict[str, Any]:
    """Return an order of an old day."""
    return {"id": id_, "store_id": 1, "created_at": f"2025-0{1 + id_ % 9}-01T10:00:00Z", **fields}


def observed(settings: Settings) -> list[dict[str, Any]]:
    """Return all observations of orders."""
    files = raw_files(settings.data_dir, "orders").observations
    return [row for file in files for row in pq.read_table(file.path).to_pylist()]


def land(settings: Settings, asked: LandingRequest, **more: Any) -> Any:
    """Backfill orders."""
    with open_vault(settings) as vault:
        return backfill(settings, vault, "orders", asked, **more)


def test_every_form_of_file(settings: Settings, tmp_path: Path) -> None:
    """NDJSON, arrays, gzip and wrappers, one a file or one a line, found by a glob, give each order once."""
    folder = tmp_path / "archive"
    folder.mkdir()
    wrapped = [{"data": {"orders": [order(id_), order(id_ + 1)]}} for id_ in (1, 3)]
    (folder / "a.json").write_text(json.dumps(wrapped[0], indent=1))
    (folder / "b.json.gz").write_bytes(gzip.compress("\n".join(json.dumps(each) for each in wrapped).encode()))
    done = land(settings, LandingRequest([folder / "*.json*"], documents_pointer="/data/orders"))
    assert (done.files, done.verdicts) == (2, {"accepted": 4, "unchanged": 2})
    (folder / "c.ndjson.gz").write_bytes(gzip.compress("\n".join(json.dumps(order(id_)) for id_ in (5, 6)).encode()))
    (folder / "d.array").write_text(json.dumps([order(7), order(8)]))
    done = land(settings, LandingRequest([folder / "c*", folder / "d*"]))
    assert done.verdicts == {"accepted": 4}
    assert sorted({row["id"] for row in observed(settings)}) == list(range(1, 9))
    assert {(row["source"], row["is_backfill"], row["tries"]) for row in observed(settings)} == {
        ("archive", True, None)
    }


def test_what_was_landed_is_not_landed_again(settings: Settings, tmp_path: Path) -> None:
    """The same files again add nothing; a file that changed and one read in another way are files of their own."""
    file = tmp_path / "orders.ndjson"
    file.write_text("\n".join(json.dumps(order(id_)) for id_ in range(1, 8)))
    told: list[tuple[str, int, int]] = []
    first = land(settings, LandingRequest([file]), part=3, progress=lambda *what: told.append(what))
    assert (first.loads, first.loads_before, first.verdicts) == (3, 0, {"accepted": 7})
    assert told[-1] == ("orders", 7, 0)
    again = land(settings, LandingRequest([file]), part=3)
    assert (again.loads, again.loads_before, again.verdicts) == (3, 3, {"accepted": 7})
    assert len(observed(settings)) == 7
    file.write_text(file.read_text() + "\n" + json.dumps(order(8)))
    assert land(settings, LandingRequest([file]), part=3).verdicts == {"accepted": 1, "unchanged": 7}
    timed = LandingRequest([file], observed_at=dt.datetime(2025, 12, 1, tzinfo=dt.UTC))
    assert land(settings, timed, part=3).loads_before == 0


_KILLED = """
import os, signal, sys
from pathlib import Path
from pipelines.landing.archives import LandingRequest, backfill
from pipelines.landing.load import Load
from pipelines.settings import load_settings
from pipelines.vault import open_vault
file, where, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
commit, done = Load.commit, [0]
def dying(self):
    done[0] += 1
    if done[0] == number and where == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    summary = commit(self)
    if done[0] == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return summary
Load.commit = dying
settings = load_settings()
with open_vault(settings) as vault:
    backfill(settings, vault, "orders", LandingRequest([file]), part=3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before", "after"])
def test_killed_at_a_commit_it_goes_on(settings: Settings, tmp_path: Path, where: str) -> None:
    """Killed just before or just after the second part is committed, the rest is landed and nothing twice."""
    file = tmp_path / "orders.ndjson"
    file.write_text("\n".join(json.dumps(order(id_)) for id_ in range(1, 11)))
    environ = {
        "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"),
        "ORDERMART_DATA__DIR": str(tmp_path / "data"),
        "PYTHONPATH": str(ROOT),
    }
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(file), where, "2"], env={**os.environ, **environ}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    done = land(settings, LandingRequest([file]), part=3)
    assert (done.loads, done.loads_before) == (4, 1 if where == "before" else 2)
    assert done.verdicts == {"accepted": 10}
    assert sorted(row["id"] for row in observed(settings)) == list(range(1, 11))


def test_what_leads_nowhere_is_named(settings: Settings, tmp_path: Path) -> None:
    """A pointer that leads nowhere, a glob without a file and a broken gzip are errors that name themselves."""
    file = tmp_path / "orders.json"
    file.write_text('{"data": {"orders": [{"id": 1}]}}')
    with pytest.raises(LandingError, match="--documents-pointer /data/items leads nowhere"):
        land(settings, LandingRequest([file], documents_pointer="/data/items"))
    with pytest.raises(LandingError, match="matches no file"):
        land(settings, LandingRequest([tmp_path / "*.csv"]))
    with pytest.raises(LandingError, match="--observed-at-pointer /at leads to a time in none"):
        land(settings, LandingRequest([file], observed_at_pointer="/at", documents_pointer="/data/orders"))
    broken = tmp_path / "orders.gz"
    broken.write_bytes(gzip.compress(b'{"id": 1}\n' * 9)[:-9])
    with pytest.raises(LandingError, match=r"orders\.gz cannot be read to its end"):
        land(settings, LandingRequest([broken]))
    assert observed(settings) == []


@pytest.mark.slow
def test_nothing_of_it_is_planned(settings: Settings, tmp_path: Path) -> None:
    """Old orders of an archive, and those of unknown age, are neither due nor drawn."""
    from pipelines.inbox.worklist import WorkList  # noqa: PLC0415
    from pipelines.ingest.loop import plan_orders  # noqa: PLC0415 -- this test alone looks so far downstream
    from pipelines.warehouse.building.build import build  # noqa: PLC0415

    file = tmp_path / "orders.ndjson"
    lines = [json.dumps(order(1)), json.dumps(order(2, created_at=None))]
    file.write_text("\n".join(lines))
    land(settings, LandingRequest([file], observed_at=dt.datetime(2025, 12, 1, tzinfo=dt.UTC)))
    build(settings)
    with WorkList(settings.data_dir / "inbox" / "worklist.sqlite") as work:
        plan = plan_orders(settings, work)
        assert (plan.due, plan.sample) == ((), ())
        assert work.due("orders") == []
