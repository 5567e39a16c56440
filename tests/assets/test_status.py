"""`ordermart status` and the alarms of a run: told by the run itself, once, and over with the next good one."""

from __future__ import annotations

import datetime as dt
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.notify import record_run
from pipelines.report.night_alarms import after_run
from pipelines.report.status import status, status_lines
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    assert [text for text in texts if "run failed" in text]
    assert "/beat" not in texts
    assert json.loads(place.command("status", "--json", **notify).stdout)["last_run"]["is_good"] is False
    texts.clear()
    assert place.command("run", **notify).returncode in (0, 3)
    assert [text for text in texts if "Over after" in text and "run failed" in text]


def test_disk_outage_and_staleness(tmp_path: Path) -> None:
    """Too little room and an outage are alarms of their own; a good run of long ago makes the state stale."""
    data = {"ORDERMART_DATA__DIR": str(tmp_path)}
    settings = load_settings(environ=data | {"ORDERMART_NOTIFY__MIN_FREE_GB": "1000000"})
    after_run(settings, succeeded=False, is_new=False, is_outage=True, now=NOW)
    assert [alarm["cause"] for alarm in status(settings, NOW)["alarms"]] == ["disk", "outage"]
    assert status(settings, NOW)["is_stale"]
    settings = load_settings(environ=data | {"ORDERMART_NOTIFY__MIN_FREE_GB": "0"})
    after_run(settings, succeeded=True, is_new=False, now=NOW)
    assert status(settings, NOW)["alarms"] == []
    assert not status(settings, NOW + dt.timedelta(hours=36))["is_stale"]
    assert status(settings, NOW + dt.timedelta(hours=37))["is_stale"]
    record_run(tmp_path, "failed", is_good=False, now=NOW + dt.timedelta(hours=1))
    state = status(settings, NOW + dt.timedelta(hours=2))
    assert (state["is_stale"], state["last_good_at"]) == (False, "2026-11-20T04:00:00Z")
    assert any(line.startswith("Last run: failed") for line in status_lines(state))
