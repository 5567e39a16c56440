"""A run that brings nothing new is good, publishes nothing, and leaves little behind."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.assets.quiet import quiet_night
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.notify.run_log import record_run
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {"ORDERMART_VERIFY__SECONDS": "0", "ORDERMART_NOTIFY__MIN_FREE_GB": "0"}
MOST_KB = 300
MOST_EVENTS = 100  # one step per kind, the build, its few tables; not 973


def home_kb(place: Any) -> float:
    """Return the bytes of Dagster's records, in thousands."""
    return sum(each.stat().st_size for each in (place.data / "dagster").rglob("*") if each.is_file()) / 1000


def last_database(place: Any) -> Path:
    """Return the database of the last run's events."""
    found = (place.data / "dagster" / "history" / "runs").glob("*-*.db")
    return max(found, key=lambda file: file.stat().st_mtime)  # type: ignore[no-any-return]


def test_a_folder_without_a_release_is_never_idle(tmp_path: Path) -> None:
    """Nothing is due there either, and a whole run says what to do."""
    assert quiet_night(load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data"), **ENVIRON})) is None


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_without_news_is_good_and_publishes_nothing(place: Any) -> None:
    """With nothing due, and with orders that did not change: no release, a reason, few events, a good run."""
    first = place.command("run", "--order-ids", str(place.ids), **ENVIRON)
    assert first.returncode == 3, first.stdout + first.stderr  # planted faults
    release = (place.data / "published" / "current").resolve().name
    ids = place.folder / "some.txt"
    good = [row[0] for row in place.all("select order_id from core.orders order by all limit 20")]
    ids.write_text("\n".join(map(str, good)), encoding="utf-8")
    for arguments, why in (((), "nothing changed"), (("--order-ids", str(ids)), "no row of core or mart")):
        before, ran_before = home_kb(place), last_database(place)
        done = place.command("run", "--due", "--json", *arguments, **ENVIRON)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(line["at"] and line["event"] for line in lines)
        ended = lines[-1]
        assert (ended["event"], ended["is_good"], ended["is_new_release"]) == ("ended", True, False)
        assert ended["release"] == release == (place.data / "published" / "current").resolve().name
        assert any(line["event"] == "note" and why in line["text"] for line in lines), lines
        assert home_kb(place) - before <= (MOST_KB if arguments else 0)  # nothing due: told without Dagster
        assert (last_database(place) == ran_before) == (not arguments)
        if not arguments:
            continue
        with closing(sqlite3.connect(last_database(place))) as db:
            events = dict(db.execute("select dagster_event_type, count(*) from event_logs group by 1").fetchall())
        assert sum(events.values()) <= MOST_EVENTS, events
    state = json.loads(place.command("status", "--json", **ENVIRON).stdout)
    assert (state["is_stale"], state["last_run"]["is_good"]) == (False, True)
    assert "nothing to publish" in state["last_run"]["sentence"]
    assert_doubts_are_left_to_a_whole_run(place)


def assert_doubts_are_left_to_a_whole_run(place: Any) -> None:
    """Whatever is due, waits or is in doubt is no quiet run; `place` is one in which nothing is."""

    def is_quiet(**changed: str) -> bool:
        return quiet_night(load_settings(environ={**place.environ, **ENVIRON, **changed})) is not None

    assert is_quiet()
    spool = place.data / "vault" / "spool-orders"
    spool.write_bytes(b"")
    assert not is_quiet()
    spool.unlink()
    assert not is_quiet(ORDERMART_FINANCE__DUPLICATE_MINUTES="7")
    raw = next((place.data / "raw" / "observations" / "orders").glob("*.parquet"))
    raw.rename(raw.with_suffix(".gone"))
    assert not is_quiet()
    raw.with_suffix(".gone").rename(raw)
    for file in (place.data / "dagster" / "history" / "runs").glob("*-*.db"):
        os.utime(file, (1, 1))
    assert not is_quiet()
    assert is_quiet(ORDERMART_NOTIFY__MAX_AGE_HOURS="0")
    os.utime(last_database(place))
    record_run(place.data, "it failed", is_good=False)
    assert not is_quiet()
    record_run(place.data, "it is good", is_good=True)
    with WorkList(inbox_path(place.data)) as work:
        work.add("orders", [1], why="a test")
    assert not is_quiet()
