"""Nightly maintenance: each task by itself; a failing one stops nothing else."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.store import connect, inbox_path, micros, transaction
from pipelines.inbox.worklist import WorkList
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import raw_files
from pipelines.record import NIGHT, WEBHOOKS
from pipelines.run.steps import run_maintenance, steps_of
from pipelines.settings import load_settings
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from conftest import Place

    from pipelines.settings import Settings


@pytest.fixture
def settings(place: Place) -> Settings:
    """Give a place's settings."""
    return load_settings(environ=place.environ)


def _land_and_notify(settings: Settings) -> None:
    """Land two loads, one of a rejected payload; receive a delivery; finish an entry of the work list."""
    with open_vault(settings) as vault:
        for body in (b'{"id":1}', b"no order"):
            with Load(settings, vault, "orders") as load:
                load.validate(body, 1)
                load.commit()
    path = inbox_path(settings.data_dir)
    with WorkList(path) as work:
        work.add("orders", [1, 2], why="test")
        work.done("orders", [1])
    connection = connect(path)
    with transaction(connection):
        connection.execute(
            "insert into deliveries (received_at, kind, id, bytes) values (?, 'orders', 1, 9)",
            (micros(dt.datetime.now(dt.UTC)),),
        )
    connection.close()


def test_run_maintenance_keeps_recent_data(settings: Settings) -> None:
    """On the same day nothing is pruned."""
    _land_and_notify(settings)
    assert [(task.items, task.error) for task in run_maintenance(settings)] == [(0, "")] * 7


def test_run_maintenance_prunes_by_retention(settings: Settings) -> None:
    """A hundred days later entry, delivery and quarantined payload are gone, and two loads are one file."""
    _land_and_notify(settings)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=100)
    assert [(task.items, task.error) for task in run_maintenance(settings, later)] == [
        (1, ""),
        (1, ""),
        (1, ""),
        (0, ""),  # personal data is kept by default
        (2, ""),
        (0, ""),
        (0, ""),
    ]
    assert len(raw_files(settings.data_dir, "orders").observations) == 1
    with WorkList(inbox_path(settings.data_dir)) as work:
        assert work.entry("orders", 1) is None
        assert work.entry("orders", 2) is not None


def test_run_maintenance_failing_task_stops_no_other(settings: Settings) -> None:
    """With a broken vault purging fails, which is reported, and the other tasks run."""
    _land_and_notify(settings)
    (settings.data_dir / "vault" / "vault.sqlite").write_bytes(b"no database" * 100)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=100)
    done = run_maintenance(settings, later)
    assert [task.items for task in done] == [1, 1, 0, 0, 2, 0, 0]
    assert [bool(task.error) for task in done] == [False, False, True, False, False, False, False]
    assert done[2].task == "quarantined payloads purged"


def test_only_a_night_runs_maintenance() -> None:
    """A night ends with maintenance; a run for webhooks has none."""
    assert steps_of(NIGHT) == [*steps_of(WEBHOOKS), "maintenance"]
