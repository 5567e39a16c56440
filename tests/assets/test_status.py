"""`ordermart status` and the alarms of a run: told by the run itself, once, and over with the next good one."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.notify import NO_GOOD_NIGHT, no_good_night
from pipelines.record import KILLED, NIGHT, ended_runs, new_run, resumable_since, save
from pipelines.report.night_alarms import after_run
from pipelines.report.status import next_tick, status, status_lines
from pipelines.settings import load_settings
from pipelines.warehouse.inputs.sources import ComparedPart, append_verification
from tests.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
NOW = dt.datetime(2026, 11, 20, 4, tzinfo=dt.UTC)


@pytest.fixture
def told() -> Iterator[tuple[str, list[str]]]:
    """Give the address of a web server, and the list of texts and paths that it was sent."""
    texts: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Keep the text of a message."""
            texts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"])
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            """Keep that the heartbeat was called."""
            texts.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", texts
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_tells_what_needs_somebody_and_status_shows_it(place: Any, told: tuple[str, list[str]]) -> None:
    """Quarantined ids, a failed run and its end are sent once each; status says whether it was good."""
    url, texts = told
    notify = {
        "ORDERMART_NOTIFY__WEBHOOK_URL": f"{url}/hook",
        "ORDERMART_NOTIFY__HEARTBEAT_URL": f"{url}/beat",
        "ORDERMART_NOTIFY__MIN_FREE_GB": "0",
    }
    assert place.command("status", **notify).returncode == 3  # no run yet
    assert place.command("run", "--order-ids", str(place.ids), **notify).returncode == 3
    shown = place.command("status", **notify)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "ALARM since" in shown.stdout
    assert "newly quarantined or failed" in shown.stdout
    assert "/beat" in texts
    assert sum("newly quarantined" in text for text in texts) == 1
    state = json.loads(place.command("status", "--json", **notify).stdout)
    assert (state["is_stale"], state["last_run"]["is_good"], state["lock_holder"]) == (False, True, None)
    assert state["release"]["quarantine"]
    texts.clear()
    down = place.command("run", **notify, ORDERMART_PARTNER__CLIENT_SECRET="wrong")
    assert down.returncode == 1
    assert [text for text in texts if "night failed" in text]
    assert "/beat" not in texts
    assert json.loads(place.command("status", "--json", **notify).stdout)["last_run"]["is_good"] is False
    page = (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert "The run failed: nothing was published" in page
    assert '<p class="bad">build: ' in page
    texts.clear()
    assert place.command("run", **notify).returncode in (0, 3)
    assert "The run failed" not in (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert [text for text in texts if "Over: the failed run" in text]


def test_disk_outage_and_staleness(tmp_path: Path) -> None:
    """Too little room and an outage are alarms of their own; a good run of long ago makes the state stale."""
    data = {"ORDERMART_DATA__DIR": str(tmp_path)}
    settings = load_settings(environ=data | {"ORDERMART_NOTIFY__MIN_FREE_GB": "1000000"})
    after_run(settings, recorded(NOW, is_outage=True), NOW)
    alarms = status(settings, NOW)["alarms"]
    assert [alarm["cause"] for alarm in alarms] == ["disk", "outage"]
    assert [alarm["command"] for alarm in alarms] == ["ordermart status", "ordermart doctor"]
    first, second = (line for line in status_lines(status(settings, NOW)) if line.startswith("ALARM"))
    assert "min_free_gb" in first, "of which nothing but status says more"
    assert ("Next:" in first, second.endswith(" Next: `ordermart doctor`")) == (False, True)
    assert status(settings, NOW)["is_stale"]
    settings = load_settings(environ=data | {"ORDERMART_NOTIFY__MIN_FREE_GB": "0"})
    after_run(settings, recorded(NOW), NOW)
    assert status(settings, NOW)["alarms"] == []
    assert not status(settings, NOW + dt.timedelta(hours=36))["is_stale"]
    assert status(settings, NOW + dt.timedelta(hours=37))["is_stale"]
    later = NOW + dt.timedelta(hours=1)
    facts: dict[str, dict[str, Any]] = {
        "failed": {"errors": ["no"]},
        "incomplete": {"incomplete": {"menus": ["no"]}},
        "killed": {"stopped_by": KILLED},
        "stopped": {"stopped_by": "SIGTERM"},
    }
    for how, of_run in facts.items():
        save(tmp_path, recorded(later, **of_run))
        state = status(settings, NOW + dt.timedelta(hours=2))
        assert (state["is_stale"], state["last_good_at"]) == (False, "2026-11-20T04:00:00Z")
        assert any(line.startswith(f"Last run: {how}, ") for line in status_lines(state))
    save(tmp_path, recorded(later, newly_refused=2))  # as `ordermart run` ends with exit code 3
    lines = [*status_lines(status(settings, NOW + dt.timedelta(hours=2)))]
    assert any(line.startswith("Last run: complete, with newly rejected or failed documents") for line in lines)


def test_a_release_of_a_clock_that_was_ahead_has_no_negative_age(tmp_path: Path) -> None:
    """A release that is dated ten days from now is said to be ahead."""
    release = tmp_path / "published" / "releases" / "20261130T040000000000-abcdef"
    release.mkdir(parents=True)
    (tmp_path / "published" / "current").symlink_to(release)
    shown = list(status_lines(status(load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path)}), NOW)))
    assert [line for line in shown if line.startswith("Release: ") and "(240.0 hours ahead)" in line]


def test_status_names_what_empties_the_dead_letter_queue(tmp_path: Path) -> None:
    """An id without an answer after all attempts is shown with the command that requests it again."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path)})
    with WorkList(inbox_path(tmp_path)) as work:
        work.add("orders", [7], why="a test")
        work.rejected("orders", [7], "no_id", 1)
    (shown,) = (line for line in status_lines(status(settings, NOW)) if line.startswith("Work list, orders"))
    assert shown.endswith("1 in the dead-letter queue (`ordermart retry` requests them again)")


def test_status_imports_neither_dagster_nor_the_warehouse() -> None:
    """What a monitor asks every minute starts without what takes seconds to import."""
    code = (
        "import sys; from pipelines.cli import app; import pipelines.report.status;"
        "slow = {'dagster', 'pandas', 'pandera', 'pyarrow', 'httpx', 'pipelines.warehouse.building', "
        "'pipelines.landing.load'};"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_status_shows_verification_backup_next_tick_and_reasons(tmp_path: Path) -> None:
    """A part that differed is shown until it is proven again; so are the last backup, the next tick, the ids due."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path), "ORDERMART_SCHEDULE__TIMEZONE": "UTC"})
    assert (status(settings, NOW)["verification"], status(settings, NOW)["last_backup"]) == (None, None)
    for number, differing in enumerate((2, 0)):
        part = ComparedPart(number, NOW, "orders", 5, 3, differing, 1, first_order_id=1, last_order_id=5)
        append_verification(tmp_path, part)
        shown = status(settings, NOW)["verification"]
        looked = {"orders": 5, "tables": 3, "differing": int(differing > 0)}
        assert shown == {"verified_at": "2026-11-20T04:00:00Z", **looked}
        assert any("PARTS DIFFER" in line for line in status_lines(status(settings, NOW))) == (differing > 0)
    append_verification(tmp_path, ComparedPart(2, NOW + dt.timedelta(hours=1), "entities", 0, 15, 0, 1))
    assert "Last verification: 2026-11-20T05:00:00Z, every row the same: no order, in 15 tables" in status_lines(
        status(settings, NOW)
    )
    (tmp_path / "notify").mkdir()
    (tmp_path / "notify" / "last_backup.json").write_text(
        json.dumps({"taken_at": NOW.isoformat(), "path": "/b/1", "bytes": 9})
    )
    with WorkList(inbox_path(tmp_path)) as work:
        work.add("orders", [1, 2], why="file")
        work.add("orders", [2], why="webhook")
    state = status(settings, NOW)
    assert state["last_backup"] == {"taken_at": "2026-11-20T04:00:00Z", "path": "/b/1"}
    assert state["schedule"]["next_tick"] == "2026-11-21T03:15:00Z"
    due = status(settings)["work_list"]["orders"]
    assert (due["due"], due["due: file"], due["due: webhook"]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("cron", "timezone", "now", "due"),
    [
        ("15 3 * * *", "UTC", "2026-11-20T03:14:59", "2026-11-20T03:15:00"),
        ("15 3 * * *", "UTC", "2026-11-20T03:15:00", "2026-11-21T03:15:00"),
        ("*/20 8-9 * * mon-fri", "UTC", "2026-11-20T09:40:00", "2026-11-23T08:00:00"),
        ("0 0 13 * 5", "UTC", "2026-11-07T00:00:00", "2026-11-13T00:00:00"),
        ("0 0 29 2 *", "UTC", "2026-11-07T00:00:00", "2028-02-29T00:00:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", "2026-10-25T01:30:00"),
        ("30 2 * * *", "Europe/Berlin", "2027-03-28T00:00:00", "2027-03-28T01:00:00"),
        ("@daily", "America/New_York", "2026-07-01T00:00:00", "2026-07-01T04:00:00"),
    ],
)
def test_next_tick(cron: str, timezone: str, now: str, due: str) -> None:
    """The next tick is the one that Dagster's own schedule takes."""
    start = dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC)
    expected = dt.datetime.fromisoformat(due).replace(tzinfo=dt.UTC)
    assert next_tick(cron, timezone, start) == expected
    ticks = schedule_execution_time_iterator(start.timestamp(), cron, timezone, ascending=True)
    assert next(tick.timestamp() for tick in ticks if tick > start) == expected.timestamp()


@pytest.mark.parametrize("cron", ["", "x", "61 * * * *", "* * * *", "5-1 * * * *", "*/0 * * * *", "0 0 31 2 *"])
def test_a_cron_that_cannot_be_read_has_no_tick(cron: str) -> None:
    """Status shows an unknown tick rather than an error: settings are judged elsewhere."""
    assert next_tick(cron, "UTC", NOW) is None


def test_a_run_of_a_clock_that_was_ahead_counts_for_nothing(tmp_path: Path) -> None:
    """A night dated a year ahead is named; it is not the last run, and no good night for the years until then."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path)})
    now = dt.datetime.now(dt.UTC)
    for at in (now + dt.timedelta(days=365), now - dt.timedelta(days=3)):
        run = recorded(at)
        run.is_told = True
        save(tmp_path, run)
    killed = new_run(NIGHT, now - dt.timedelta(hours=2))
    save(tmp_path, killed)
    state = status(settings, now)
    assert state["is_stale"]
    assert state["last_run"]["outcome"] == "killed"
    assert state["last_good_at"].startswith(f"{now - dt.timedelta(days=3):%Y-%m-%d}")
    assert [line for line in status_lines(state) if line.startswith("Of a clock that was ahead")]
    assert [alarm.cause for alarm in no_good_night(settings, now)] == [NO_GOOD_NIGHT]
    assert resumable_since(ended_runs(tmp_path, is_any_alive=False), now) is None  # it had no step
    assert ended_runs(tmp_path, is_any_alive=False)[-1].id == killed.id
