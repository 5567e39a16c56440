"""Ids that a run is asked for are on the work list before anything of the run can fail."""

from __future__ import annotations

import fcntl
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.record import NIGHT, WEBHOOKS
from pipelines.run.reporting import keep_looking
from pipelines.run.under_way import NotBegunError, RunRequest, begun
from pipelines.settings import load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings of a service that does not answer, with keys and a file of two ids."""
    new_key_file(tmp_path / "keys.json")
    (tmp_path / "ids").write_text("5\n7\n", encoding="utf-8")
    names = {"CLIENT_ID": "sandbox", "CLIENT_SECRET": "sandbox", "BASE_URL": "http://127.0.0.1:9"}
    environ = {f"ORDERMART_PARTNER__{name}": value for name, value in names.items()}
    environ |= {"ORDERMART_DATA__DIR": str(tmp_path / "data"), "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json")}
    return load_settings(environ=environ)


def due(settings: Settings) -> list[int]:
    """Return the orders that the next run asks for."""
    with WorkList(inbox_path(settings.data_dir)) as work:
        return work.due("orders")


def test_a_run_that_ends_before_it_fetched_forgets_no_id(settings: Settings, tmp_path: Path) -> None:
    """Its first step was not even begun."""
    with (
        pytest.raises(OSError, match="the disk"),
        begun(settings, NIGHT, RunRequest(str(tmp_path / "ids"), "10-11"), keeps=False),
    ):
        raise OSError("the disk is gone")
    assert due(settings) == [5, 7, 10, 11]


def test_a_run_that_finds_another_under_way_forgets_no_id(settings: Settings, tmp_path: Path) -> None:
    """It cannot begin; the next run has its ids."""
    settings.data_dir.mkdir()
    with (settings.data_dir / "run.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            pytest.raises(NotBegunError),
            begun(settings, WEBHOOKS, RunRequest(str(tmp_path / "ids")), keeps=False),
        ):
            pass
    assert due(settings) == [5, 7]


def test_looking_for_dead_runs_goes_on_after_an_error(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be looked at is said, each time; the next look may find more."""
    (settings.data_dir).mkdir()
    (settings.data_dir / "runs").symlink_to("runs")
    looking = keep_looking(settings, 0.01)
    for _ in range(500):
        if len(caplog.messages) > 1:
            break
        time.sleep(0.02)
    assert looking.is_alive()
    assert "looking for dead runs: " in caplog.messages[1]
