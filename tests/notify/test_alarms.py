"""Alarms: told once per cause on every channel until they are over, by a real webhook and a real mail server."""

from __future__ import annotations

import datetime as dt
import json
import socketserver
import threading
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from pipelines import notify
from pipelines.notify import Alarm, NotifyError, active_alarms, beat, channels_of, update_alarms
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = dt.datetime(2026, 11, 20, 3, 30, tzinfo=dt.UTC)
OUTAGE = Alarm("outage", "The partner service gave no answer; see `ordermart status`.")
DISK = Alarm("disk", "2.0 GB are free below [data] dir, [notify] min_free_gb is 5.0.")


class Web(BaseHTTPRequestHandler):
    """Keep requests; answer as told."""

    asked: list[tuple[str, str, Any]]
    status = 200

    def do_POST(self) -> None:
        """Take a message."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(json.loads(body))

    def do_GET(self) -> None:
        """Take a heartbeat."""
        self._answer(None)

    def _answer(self, body: Any) -> None:
        type(self).asked.append((self.command, self.path, body))
        self.send_response(type(self).status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Mail(socketserver.StreamRequestHandler):
    """A mail server of the few commands that sending takes (RFC 5321)."""

    received: list[str]

    def handle(self) -> None:
        """Answer one client's commands."""
        self.wfile.write(b"220 loopback\r\n")
        while line := self.rfile.readline():
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                type(self).received.append(b"".join(lines).decode())
            elif line.upper().startswith(b"QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            self.wfile.write(b"250 ok\r\n")


@contextmanager
def running(server: socketserver.TCPServer) -> Iterator[int]:
    """Serve until the block ends; give the port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web() -> Iterator[tuple[type[Web], int]]:
    """Give a web server of this test, and its port."""
    handler = type("Web", (Web,), {"asked": []})
    with running(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as port:
        yield handler, port


@pytest.fixture
def mail() -> Iterator[tuple[type[Mail], int]]:
    """Give a mail server of this test, and its port."""
    handler = type("Mail", (Mail,), {"received": []})
    with running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)) as port:
        yield handler, port


def environ(tmp_path: Path, web_port: int, mail_port: int, **more: str) -> dict[str, str]:
    """Return the environment in which both channels are set."""
    return {
        "ORDERMART_DATA__DIR": str(tmp_path / "data"),
        "ORDERMART_NOTIFY__WEBHOOK_URL": f"http://127.0.0.1:{web_port}/hook/secret-part",
        "ORDERMART_NOTIFY__HEARTBEAT_URL": f"http://127.0.0.1:{web_port}/beat",
        "ORDERMART_NOTIFY__SMTP_HOST": "127.0.0.1",
        "ORDERMART_NOTIFY__SMTP_PORT": str(mail_port),
        "ORDERMART_NOTIFY__SMTP_SECURITY": "none",
        "ORDERMART_NOTIFY__MAIL_FROM": "ordermart@example.org",
        "ORDERMART_NOTIFY__MAIL_TO": '["night@example.org"]',
        **more,
    }


@pytest.mark.parametrize("form", ["json", "slack"])
def test_alarm_is_told_once_on_each_channel_and_once_when_it_is_over(
    tmp_path: Path, web: tuple[type[Web], int], mail: tuple[type[Mail], int], form: str
) -> None:
    """Three nights of an outage send one message, the fourth, good one says that it is over, later ones say nothing."""
    settings = load_settings(environ=environ(tmp_path, web[1], mail[1], ORDERMART_NOTIFY__WEBHOOK_FORMAT=form))
    channels = channels_of(settings)
    for night in range(3):
        now = NOW + dt.timedelta(days=night)
        assert update_alarms(tmp_path, [OUTAGE], channels, evaluated_causes={"outage"}, now=now) == []
    assert [alarm.cause for alarm in active_alarms(tmp_path)] == ["outage"]
    for night in (3, 4):
        update_alarms(tmp_path, [], channels, evaluated_causes={"outage"}, now=NOW + dt.timedelta(days=night))
    assert active_alarms(tmp_path) == []
    texts = [body["text"] for _, _, body in web[0].asked]
    assert texts == [
        f"ordermart: {OUTAGE.text}",
        f"ordermart: Over: the outage of the partner service, since {NOW:%Y-%m-%d %H:%M} UTC.",
    ]
    assert set(web[0].asked[0][2]) == ({"text"} if form == "slack" else {"text", "source", "host"})
    assert ["Over: " in message for message in mail[0].received] == [False, True]
    assert "To: night@example.org" in mail[0].received[0]


def test_each_cause_lives_by_itself(tmp_path: Path) -> None:
    """A second cause is told beside the first; a cause that nobody looked at stays as it is."""
    sent: list[str] = []
    channels = {"list": sent.append}
    update_alarms(tmp_path, [OUTAGE, DISK], channels, evaluated_causes={"outage", "disk"}, now=NOW)
    update_alarms(tmp_path, [], channels, evaluated_causes={"disk"}, now=NOW + dt.timedelta(hours=1))
    assert sent == [DISK.text, OUTAGE.text, f"Over: too little free disk space, since {NOW:%Y-%m-%d %H:%M} UTC."]
    assert [alarm.cause for alarm in active_alarms(tmp_path)] == ["outage"]
    update_alarms(tmp_path, [DISK], channels, evaluated_causes={"disk"}, now=NOW + dt.timedelta(hours=2))
    assert sent[-1].startswith(DISK.text)


def test_a_cause_that_comes_and_goes_sends_three_messages_a_week(tmp_path: Path) -> None:
    """Every second night is bad for two weeks: the third message says that others follow later."""
    sent: list[tuple[int, str]] = []
    for night in range(14):
        now, bad = NOW + dt.timedelta(days=night), night % 2 == 0
        channels = {"list": lambda text, night=night: sent.append((night, text))}
        update_alarms(tmp_path, [OUTAGE] if bad else [], channels, evaluated_causes={"outage"}, now=now)
        assert bool(active_alarms(tmp_path)) == bad
    said = [(night, "over" if text.startswith("Over") else "bad", "further changes" in text) for night, text in sent]
    first = [(0, "bad", False), (1, "over", False), (2, "bad", True)]
    assert said == [*first, *[(7, "over", True), (8, "bad", True), (9, "over", True)]]
    later = NOW + dt.timedelta(days=30)
    update_alarms(tmp_path, [], {"list": lambda text: sent.append((30, text))}, evaluated_causes={"outage"}, now=later)
    assert len(sent) == 6  # the last word was "over", and it is
    assert json.loads((tmp_path / "notify" / "alarms.json").read_text()) == []


def test_an_end_that_could_not_be_said_is_said_when_the_week_is_over(tmp_path: Path) -> None:
    """The channel heard last that it is bad: it hears that it is over as soon as a message may be sent."""
    sent: list[str] = []
    for night in (0, 1, 2, 3, 4, 7):
        raised = [OUTAGE] if night in {0, 2} else []
        now = NOW + dt.timedelta(days=night)
        update_alarms(tmp_path, raised, {"list": sent.append}, evaluated_causes={"outage"}, now=now)
        assert len(sent) == {0: 1, 1: 2, 2: 3, 3: 3, 4: 3, 7: 4}[night]
    assert sent[-1].startswith("Over: the outage")


def test_a_channel_that_fails_is_told_later(
    tmp_path: Path, web: tuple[type[Web], int], mail: tuple[type[Mail], int]
) -> None:
    """The mail arrives though the webhook fails, whose error names no address; the webhook gets it next time."""
    settings = load_settings(environ=environ(tmp_path, web[1], mail[1]))
    web[0].status = 500
    (failure,) = update_alarms(tmp_path, [OUTAGE], channels_of(settings), evaluated_causes={"outage"}, now=NOW)
    assert failure == "An alarm could not be sent: webhook: webhook: answered with status 500."
    web[0].status = 200
    assert update_alarms(tmp_path, [OUTAGE], channels_of(settings), evaluated_causes={"outage"}, now=NOW) == []
    assert (len(web[0].asked), len(mail[0].received)) == (2, 1)


def test_no_control_character_is_sent(tmp_path: Path, web: tuple[type[Web], int], mail: tuple[type[Mail], int]) -> None:
    """Mail is read in terminals: escape and right-to-left signs, and what would begin a header, are replaced."""
    hostile = Alarm("outage", "EUR\x1b]0;owned\x07\u202e\ud800 Zoë\r\nBcc: x@example.org")
    settings = load_settings(environ=environ(tmp_path, web[1], mail[1]))
    assert update_alarms(tmp_path, [hostile], channels_of(settings), evaluated_causes={"outage"}, now=NOW) == []
    expected = "EUR\ufffd]0;owned\ufffd\ufffd\ufffd Zoë Bcc: x@example.org"
    assert web[0].asked[0][2]["text"] == f"ordermart: {expected}"
    message = message_from_bytes(mail[0].received[0].encode(), policy=policy.default)
    assert message["Subject"].endswith(expected)
    assert message["Bcc"] is None
    assert message.get_content().strip() == expected


def test_a_server_that_is_not_there_is_an_error_without_its_address(tmp_path: Path) -> None:
    """The message names the channel and the kind of failure, no address."""
    settings = load_settings(environ=environ(tmp_path, 9, 9))
    for channel in channels_of(settings).values():
        with pytest.raises(NotifyError) as raised:
            channel("text")
        assert "127.0.0.1" not in str(raised.value)
        assert "secret-part" not in str(raised.value)


class Drip(socketserver.StreamRequestHandler):
    """An answer that comes byte by byte: each wait is short, the whole is not."""

    ended: threading.Event

    def handle(self) -> None:
        """Send headers until the test ends, then the end of the answer."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        while not type(self).ended.wait(0.05):
            self.wfile.write(b"x")
        self.wfile.write(b"\r\nContent-Length: 0\r\n\r\n")


def test_a_server_that_answers_byte_by_byte_holds_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole of a request is bounded, not only each wait: webhook and heartbeat end with a sentence."""
    monkeypatch.setattr(notify, "_MOST_SECONDS", 0.3)
    Drip.ended = threading.Event()
    unbounded = threading.Timer(10, Drip.ended.set)  # an answer at last, should nothing bound it
    unbounded.start()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as server, running(server) as port:
        settings = load_settings(environ=environ(tmp_path, port, 9))
        for call in (lambda: beat(settings), lambda: channels_of(settings)["webhook"]("text")):
            with pytest.raises(NotifyError, match="took longer than"):
                call()
        Drip.ended.set()
    unbounded.cancel()


def test_a_damaged_state_tells_again_rather_than_never(tmp_path: Path) -> None:
    """What cannot be read counts as nothing told."""
    sent: list[str] = []
    update_alarms(tmp_path, [OUTAGE], {"list": sent.append}, evaluated_causes={"outage"}, now=NOW)
    (tmp_path / "notify" / "alarms.json").write_text("{", encoding="utf-8")
    update_alarms(tmp_path, [OUTAGE], {"list": sent.append}, evaluated_causes={"outage"}, now=NOW)
    assert sent == [OUTAGE.text, OUTAGE.text]


def test_the_heartbeat_is_called_only_where_it_is_set(tmp_path: Path, web: tuple[type[Web], int]) -> None:
    """A good night calls the address, so that a monitor elsewhere misses the one that does not."""
    beat(load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path)}))
    assert web[0].asked == []
    beat(load_settings(environ=environ(tmp_path, web[1], 9)))
    assert web[0].asked == [("GET", "/beat", None)]
