"""What a night tidies up: each chore by itself, and a failing one costs nothing."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from pipelines.assets.maintenance import do_chores
from pipelines.definitions import wiring
from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.store import connect, micros, transaction
from pipelines.inbox.worklist import WorkList
from pipelines.landing import open_load, raw_files
from pipelines.settings import load_settings
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from conftest import Place

    from pipelines.settings import Settings


@pytest.fixture
def settings(place: Place) -> Settings:
    """Give a place's settings."""
    return load_settings(environ=place.environ)


def _land_and_hint(settings: Settings) -> None:
    """Land two loads, one of a refused body; receive a delivery; finish an entry of the work list."""
    with open_vault(settings) as vault:
        for body in (b'{"id":1}', b"no order"):
            with open_load(settings, vault, "orders") as load:
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


def test_what_is_young_stays(settings: Settings) -> None:
    """On the same day there is nothing to tidy up, and nothing goes."""
    _land_and_hint(settings)
    assert [(chore.number, chore.error) for chore in do_chores(settings)] == [(0, "")] * 4


def test_what_was_kept_long_enough_goes(settings: Settings) -> None:
    """A hundred days later a finished entry, a delivery and a refused body go, and two loads are one file."""
    _land_and_hint(settings)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=100)
    assert [(chore.number, chore.error) for chore in do_chores(settings, later)] == [(1, ""), (1, ""), (1, ""), (2, "")]
    assert len(raw_files(settings.data_dir, "orders").observations) == 1
    with WorkList(inbox_path(settings.data_dir)) as work:
        assert work.entry("orders", 1) is None
        assert work.entry("orders", 2) is not None


def test_a_chore_that_fails_costs_only_itself(settings: Settings) -> None:
    """With a broken vault the bodies are not forgotten, which is said, and the other chores are done."""
    _land_and_hint(settings)
    (settings.data_dir / "vault" / "vault.sqlite").write_bytes(b"no database" * 100)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=100)
    done = do_chores(settings, later)
    assert [chore.number for chore in done] == [1, 1, 0, 2]
    assert [bool(chore.error) for chore in done] == [False, False, True, False]
    assert done[2].sentence().startswith("bodies of refused documents forgotten: not done, ")


def test_the_night_does_them_and_the_small_run_does_not(settings: Settings) -> None:
    """The nightly job ends with the chores; a run for hints has none."""
    defined = wiring(settings)
    assert "chores" in defined.resolve_job_def("nightly").graph.node_dict
    assert "chores" not in defined.resolve_job_def("hints").graph.node_dict
