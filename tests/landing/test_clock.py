"""A clock that was set back: loads, versions and files keep the order in which they came."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.load import Load
from pipelines.landing.raw_folder import clock_set_back, raw_files
from pipelines.warehouse.building.build import build, warehouse_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

TODAY = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
YESTERDAY = TODAY - dt.timedelta(days=1)


@pytest.fixture
def land_at(settings: Settings, vault: Vault) -> Callable[..., LoadSummary]:
    """Give `land_at(time, document, …)`: a load under a clock that shows this time; an id alone is a 404."""

    def run(now: dt.datetime, *documents: Any, source: Any = "live") -> LoadSummary:
        with Load(settings, vault, "orders", source, now=lambda: now) as load:
            for document in documents:
                if isinstance(document, int):
                    load.no_document(document)
                else:
                    load.validate(json.dumps(document).encode())
            return load.commit()

    return run


def _rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    import duckdb  # noqa: PLC0415

    with duckdb.connect(str(warehouse_file(settings.data_dir)), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        return con.execute(query).fetchall()


@pytest.mark.slow
def test_loads_and_versions_keep_their_order(settings: Settings, land_at: Callable[..., LoadSummary]) -> None:
    """What was landed a day back is the later load, and its document the current version, after a full build too."""
    first = land_at(TODAY, {"id": 7, "status": "new"}).load_id
    build(settings)
    second = land_at(YESTERDAY, {"id": 7, "status": "done"}).load_id
    third = land_at(YESTERDAY + dt.timedelta(seconds=1), {"id": 7, "status": "paid"}).load_id
    assert sorted([third, second, first]) == [first, second, third] == raw_files(settings.data_dir, "orders").load_ids
    query = "select version_no, status, first_seen_at from core.order_versions order by version_no"
    found = [(1, "new", TODAY), (2, "done", TODAY), (3, "paid", TODAY)]
    for full in (False, True):
        build(settings, full=full)
        assert _rows(settings, query) == found
        assert _rows(settings, "select status, _load_id from core.orders") == [("paid", third)]


def test_verdict_is_that_of_the_last_document(land_at: Callable[..., LoadSummary]) -> None:
    """A document that came back after another is accepted, the one that came last is unchanged."""
    land_at(TODAY, {"id": 7, "status": "new"})
    assert land_at(YESTERDAY, {"id": 7, "status": "done"}).counts["accepted"] == 1
    assert land_at(YESTERDAY, {"id": 7, "status": "done"}).counts["unchanged"] == 1
    back = land_at(YESTERDAY, {"id": 7, "status": "new"}, {"id": 8, "status": "new"})
    assert (back.counts["accepted"], back.returned) == (2, 1)  # an earlier version again, and a new order


@pytest.mark.long
def test_order_found_after_misses_is_found(settings: Settings, land_at: Callable[..., LoadSummary]) -> None:
    """Three 404s, then a document under a clock a day back: the order is there."""
    land_at(TODAY, {"id": 7, "status": "new"})
    for hour in (1, 2, 3):
        land_at(TODAY + dt.timedelta(hours=hour), 7)
    build(settings)
    assert _rows(settings, "select is_deleted from core.orders") == [(True,)]
    land_at(YESTERDAY, {"id": 7, "status": "new"})
    build(settings)
    assert _rows(settings, "select is_deleted from core.orders") == [(False,)]


@pytest.mark.slow
def test_clock_is_known_without_the_index(
    settings: Settings, vault: Vault, land_at: Callable[..., LoadSummary]
) -> None:
    """The index is a cache: rebuilt from raw it knows the last answer again, a 404 too; an archive's time is none."""
    land_at(TODAY, {"id": 7, "status": "new"})
    times = iter([TODAY, TODAY + dt.timedelta(hours=5), TODAY + dt.timedelta(hours=1)])
    with Load(settings, vault, "orders", "live", now=lambda: next(times)) as load:
        for _ in range(2):
            load.no_document(8)
        load.commit()
    for file in (settings.data_dir / "raw" / "index").iterdir():
        file.unlink()
    later = land_at(YESTERDAY, {"id": 8, "status": "new"})
    build(settings)
    assert _rows(settings, "select order_id, _fetched_at, _load_id from core.orders where order_id = 8") == [
        (8, TODAY + dt.timedelta(hours=5), later.load_id)
    ]


@pytest.mark.slow
def test_time_of_an_archive_is_not_the_clock(
    settings: Settings, vault: Vault, land_at: Callable[..., LoadSummary]
) -> None:
    """An archive that claims to be of the future moves no later answer."""
    with Load(settings, vault, "orders", "archive", now=lambda: YESTERDAY) as load:
        load.validate(b'{"id": 9}', observed_at=TODAY + dt.timedelta(days=900), http_status=None)
        load.commit()
    land_at(TODAY, {"id": 7})
    build(settings)
    assert _rows(settings, "select _fetched_at from core.orders where order_id = 7") == [(TODAY,)]


def test_clock_set_back_is_said_in_one_line(settings: Settings, land_at: Callable[..., LoadSummary]) -> None:
    """Both times are named; a clock that is not behind says nothing."""
    assert clock_set_back(settings.data_dir, TODAY) == ""
    land_at(TODAY, {"id": 7})
    assert clock_set_back(settings.data_dir, TODAY) == ""
    said = clock_set_back(settings.data_dir, YESTERDAY)
    assert said.startswith("The clock is at 2026-11-19 12:00 UTC, before the last load at 2026-11-20 12:00 UTC")
    assert "\n" not in said
