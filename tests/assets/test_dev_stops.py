"""`ordermart dev` as a service manager sees it: started, guarded, stopped with everything that it started."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from pipelines.assets.dev import DevError, dagster_dev, only_one, run_together
from pipelines.cli.options import PlainText
from pipelines.settings import load_settings
from tests.assets.pages import alive, descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `ordermart dev --webhooks` until the block ends; give the process and the address of its pages."""
    port = free_port()
    environ = {
        "ORDERMART_DATA__DIR": str(folder / "data"),
        "ORDERMART_WEBHOOKS__PORT": str(free_port()),
        "ORDERMART_SCHEDULE__IS_ON": "false",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "dev", "--webhooks", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, **environ},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        url = f"http://127.0.0.1:{port}"
        while True:
            try:
                httpx.get(url + "/server_info", timeout=20)
                break
            except httpx.TransportError:
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.3)
        yield process, url
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.luck("ten seconds are few where other tests take both cores")
def test_sigterm_ends_everything_within_ten_seconds(tmp_path: Path) -> None:
    """Pages, daemon, receiver and their code servers are gone; foreign requests were refused while they ran."""
    with serving(tmp_path) as (process, url):
        mutation = "mutation { terminateRuns(runIds: []) { __typename } }"
        assert httpx.get(url + "/graphql", params={"query": mutation}).status_code == 403
        asked = httpx.post(url + "/graphql", json={"query": "{ version }"}, timeout=60)
        assert asked.json()["data"]["version"]
        second = subprocess.run(
            [sys.executable, "-m", "pipelines.cli", "dev", "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "ORDERMART_DATA__DIR": str(tmp_path / "data")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (second.returncode, f"process {process.pid}" in second.stderr) == (1, True)
        below = descendants(process.pid)
        assert len(below) >= 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert alive(below) == set()


def test_output_of_children_is_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they write reaches no terminal as it is: neither bytes that are not text, nor a last line without an end."""
    hostile = b"a\x1b]0;owned\x07\xe2\x80\xaeb\r\xffc\n\x1b[31mred\x1b[0m\n"
    script = (
        f"import sys; text = {hostile!r} + b'x' * 200_000 + b'\x1b[2Jend'\n"
        "for stream in (sys.stdout, sys.stderr): stream.buffer.write(text), stream.flush()\n"
        "sys.exit(3)"
    )
    terminals = [io.StringIO(), io.StringIO()]
    for name, terminal in zip(("stdout", "stderr"), terminals, strict=True):
        monkeypatch.setattr(sys, name, PlainText(terminal))
    monkeypatch.setattr("pipelines.assets.dev._PATIENCE_SECONDS", 60.0)  # of a busy machine
    assert run_together({"a child": [sys.executable, "-c", script]}, os.environ) == 1
    expected = "a\ufffd]0;owned\ufffd\ufffdb\ufffd\ufffdc\nred\n" + "x" * 200_000 + "\ufffd[2Jend"
    assert terminals[0].getvalue() == expected
    assert terminals[1].getvalue().startswith(expected)
    assert "a child ended by itself with exit code 3" in terminals[1].getvalue()


def test_taken_port_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the port and what to do."""
    monkeypatch.setenv("DAGSTER_HOME", "")  # which is set
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DevError, match=rf"127\.0\.0\.1:{port}: .*; choose --port"):
            dagster_dev(settings, host="127.0.0.1", port=port)


@pytest.mark.slow
def test_a_second_one_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Two daemons on one folder would start every night twice."""
    script = (
        "import sys; from pathlib import Path; from pipelines.assets.dev import only_one\n"
        "with only_one(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DevError, match=f"as process {other.pid}; stop it first"), only_one(tmp_path):
            pass
        other.kill()
    with only_one(tmp_path):
        pass
