"""`ordermart doctor`: each part is ok, a warning or a failure with its fix; the exit code says the worst."""

from __future__ import annotations

import datetime as dt
import http.server
import os
import socket
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.notify import Alarm, LastBackup, record_backup, update_alarms
from pipelines.partner.exchange import PartnerMisconfigured
from pipelines.partner.token import authenticate_request
from pipelines.record import save
from pipelines.report.doctor import Finding, _fix, _secrets, examine
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file
from tests.forked import ordermart
from tests.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = dt.datetime(2026, 11, 20, 4, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Give a service with two stores."""
    with Sandbox(orders=20, stores=2, days=2) as sandbox:
        yield sandbox.base_url


@pytest.fixture
def environ(tmp_path: Path, base_url: str) -> dict[str, str]:
    """Give the settings of an installation in which all is well, but for the receiver, the daemon and runs."""
    new_key_file(tmp_path / "keys.json")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "ORDERMART_PARTNER__BASE_URL": base_url,
        "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
        "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
        "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"),
        "ORDERMART_DATA__DIR": str(tmp_path / "data"),
        "ORDERMART_WEBHOOKS__PORT": str(port),
        "ORDERMART_NOTIFY__MIN_FREE_GB": "0",
        "ORDERMART_NOTIFY__SMTP_HOST": "localhost",
    }


def examined(environ: dict[str, str], **more: str) -> dict[str, Finding]:
    """Return what was found, by part; everything but ok has its fix, nothing shows the secret."""
    findings = list(examine(load_settings(environ=environ | more), NOW))
    assert all((each.level == "ok") == (not each.fix) for each in findings), findings
    assert not any("very-secret" in each.line() for each in findings)
    return {each.part: each for each in findings}


def test_a_working_installation_is_ok(tmp_path: Path, environ: dict[str, str]) -> None:
    """With a receiver, a daemon and a good run only what was never landed is a warning."""
    save(tmp_path / "data", recorded(NOW))
    runs = tmp_path / "data" / "dagster" / "history" / "runs.db"
    runs.parent.mkdir(parents=True)
    with closing(sqlite3.connect(runs)) as db, db:
        db.execute("create table daemon_heartbeats (daemon_type text, timestamp text)")
        db.execute("insert into daemon_heartbeats values ('SCHEDULER', '2026-11-20 03:59:40')")

    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Be well."""
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", int(environ["ORDERMART_WEBHOOKS__PORT"])), Health) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        found = examined(environ)
        server.shutdown()
        thread.join()
    assert {part for part, each in found.items() if each.level != "ok"} == {"order"}
    assert found["order"].level == "warning"
    assert {"settings", "credentials", "vault keys", "disk", "lock", "daemon", "last run", "receiver"} < found.keys()
    assert {"service", "store", "menu"} < found.keys()
    assert {found[part].text for part in ("store list", "store")} == {
        "2 stores, to the list's end.",
        "2 requested by id and accepted.",
    }


@pytest.mark.parametrize(
    ("client_id", "body", "level"),
    [
        ("", '{ client_id = "sandbox", client_secret = "sandbox" }', "ok"),
        ("", '{ client_id = "{client_id}" }', "failure"),
        ("\udc80", '{ client_id = "{client_id}" }', "failure"),
        ("name", '{ client_id = "{client_id}" }', "ok"),
    ],
)
def test_credentials_are_those_that_the_request_for_a_token_needs(
    tmp_path: Path, client_id: str, body: str, level: str
) -> None:
    """Settings that name them in the body, as the demo's, need no others; the client refuses what fails here."""
    (tmp_path / "shop.toml").write_text(f"[partner.authenticate]\nbody = {body}\n", encoding="utf-8")
    settings = load_settings(tmp_path / "shop.toml", {"ORDERMART_PARTNER__CLIENT_ID": client_id})
    (found,) = (each for each in _secrets(settings) if each.part == "credentials")
    assert found.level == level
    if level == "failure":
        with pytest.raises(PartnerMisconfigured, match="client_id"):
            authenticate_request(settings.partner)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "level", "more"),
    [
        ("credentials", "failure", {"ORDERMART_PARTNER__CLIENT_SECRET": ""}),
        ("token", "failure", {"ORDERMART_PARTNER__CLIENT_SECRET": "very-secret"}),
        ("service", "failure", {"ORDERMART_PARTNER__BASE_URL": "http://127.0.0.1:9"}),
        ("store list", "failure", {"ORDERMART_PARTNER__LIST_STORES__ITEMS_POINTER": "/data"}),
        ("store list", "failure", {"ORDERMART_PARTNER__STORE__ID_POINTER": "/number"}),
        ("store", "failure", {"ORDERMART_PARTNER__STORE__TIMEZONE_POINTER": "/address"}),
        ("store", "failure", {"ORDERMART_PARTNER__STORE__PATH": "/v1/shops/{store_id}"}),
        ("menu", "warning", {"ORDERMART_PARTNER__STORE__MENU_ID_POINTERS": '["/menus/*"]'}),
        ("menu", "failure", {"ORDERMART_PARTNER__MENU__PATH": "/v1/carte/{menu_id}"}),
        ("vault keys", "failure", {"ORDERMART_VAULT__KEY_FILE": "none.json"}),
        ("webhook secret", "failure", {"ORDERMART_WEBHOOKS__SIGNATURE": "standard_webhooks"}),
        ("disk", "warning", {"ORDERMART_NOTIFY__MIN_FREE_GB": "1000000"}),
        ("alarms", "warning", {"ORDERMART_NOTIFY__SMTP_HOST": ""}),
        ("daemon", "warning", {}),
        ("receiver", "warning", {}),
        ("last run", "warning", {}),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(
    environ: dict[str, str], part: str, level: str, more: dict[str, str]
) -> None:
    """A planted fault is found, as what it is."""
    found = examined(environ, **more)
    assert found[part].level == level, found


@pytest.mark.slow
@pytest.mark.parametrize(("more", "code"), [({}, 3), ({"ORDERMART_PARTNER__CLIENT_ID": ""}, 1)])
def test_the_exit_code_says_the_worst(environ: dict[str, str], more: dict[str, str], code: int) -> None:
    """3 if there are warnings only, 1 if anything fails."""
    done = ordermart(("doctor",), {**os.environ, **environ, **more}, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr


def test_a_failed_or_old_run_and_its_alarms_are_shown(tmp_path: Path, environ: dict[str, str]) -> None:
    """A failed run is a failure, so is a good one of long ago; alarms that stand are warnings."""
    failed = recorded(NOW, errors=["no"])
    save(tmp_path / "data", failed)
    update_alarms(tmp_path / "data", [Alarm("disk", "little is free")], {}, evaluated_causes={"disk"}, now=NOW)
    found = examined(environ)
    assert (found["last run"].level, "failed" in found["last run"].text) == ("failure", True)
    assert (found["alarm"].level, found["alarm"].fix) == ("warning", "`ordermart status`")
    (tmp_path / "data" / "runs" / f"{failed.id}.json").unlink()
    save(tmp_path / "data", recorded(NOW - dt.timedelta(hours=40)))
    assert examined(environ)["last run"].level == "failure"


def test_log_of_erasures_is_looked_for(environ: dict[str, str], tmp_path: Path) -> None:
    """None is needed before a backup; then one that is missing or does not name it fails, the same disk warns."""
    assert examined(environ)["erasure log"].level == "ok"
    settings = load_settings(environ=environ)
    log = tmp_path / "erasures.jsonl"
    record_backup(settings.data_dir, LastBackup(NOW, str(tmp_path / "20261120T010000000000"), 1))
    assert examined(environ)["erasure log"].level == "failure"
    own = {"ORDERMART_PRIVACY__ERASURE_LOG": str(log)}
    assert "is missing" in examined(environ, **own)["erasure log"].text
    log.write_text('{"backup": "another"}\n', encoding="utf-8")
    assert "does not name the last backup" in examined(environ, **own)["erasure log"].text
    log.write_text('{"backup": "20261120T010000000000"}\n', encoding="utf-8")
    assert examined(environ, **own)["erasure log"][1:3] == (
        "warning",
        f"{log} is on the same disk as the data folder.",
    )


@pytest.mark.parametrize(
    ("cause", "fix"),
    [
        ("verification", "`ordermart build --full`"),
        ("incomplete:menus", "`ordermart run`"),
        ("new_failures", "`ordermart status`"),
        ("outage:webhooks", "see the other parts, and docs/OPERATIONS.md, Alarms"),
    ],
)
def test_the_fix_of_an_alarm_is_the_command_of_the_page(cause: str, fix: str) -> None:
    """Each cause has its command, whatever it is about; where that is `doctor` itself, its other parts say more."""
    assert _fix(cause) == fix
