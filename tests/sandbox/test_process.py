"""The stand-in as a process: it is ready when it says so, and gone when it should be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.listening import claimed
from pipelines.sandbox.process import Sandbox, SandboxError

pytestmark = pytest.mark.slow

REPO = Path(__file__).resolve().parents[2]


def ended(pid: int) -> bool:
    """Tell whether a process ends within some seconds; one that nobody waited for counts as ended."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_it_ends_with_the_block() -> None:
    """After the block the process is gone and its port is free."""
    with Sandbox(orders=1, stores=1) as running:
        pid, port = running.pid, int(running.base_url.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port)).close()
    assert ended(pid)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_ends_with_its_parent() -> None:
    """A parent that is killed leaves no stand-in behind."""
    script = (
        "import time; from pipelines.sandbox.process import Sandbox\n"
        "with Sandbox(orders=1, stores=1) as s: print(s.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=REPO, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert ended(pid)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_fast(name: signal.Signals) -> None:
    """On SIGTERM and SIGINT it exits with 0 at once, an open connection or not, and says nothing."""
    port = claimed("127.0.0.1")
    command = [sys.executable, "-m", "pipelines.sandbox", f"--port={port}", "--orders=1", "--stores=1"]
    with subprocess.Popen(
        command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == f"ready on http://127.0.0.1:{port}\n"
        with socket.create_connection(("127.0.0.1", port)):
            since = time.monotonic()
            process.send_signal(name)
            assert process.wait(40) == 0
            assert time.monotonic() - since < 30
        assert process.stderr.read() == ""


def test_a_signal_ends_it_while_the_world_is_made() -> None:
    """It can also be stopped before it is ready."""
    command = [sys.executable, "-m", "pipelines.sandbox", "--port=0", "--orders=1000000"]
    with subprocess.Popen(command, cwd=REPO, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)
        process.terminate()
        assert process.wait(5) in (0, -signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_taken_port_is_an_error() -> None:
    """Two stand-ins do not share a port without a word."""
    with Sandbox(orders=1, stores=1) as running:
        port = int(running.base_url.rpartition(":")[2])
        with pytest.raises(SandboxError, match=f"cannot listen on 127.0.0.1:{port}"):
            Sandbox(orders=1, stores=1, port=port).__enter__()


def test_wrong_flags_are_one_sentence() -> None:
    """An impossible world is refused, saying why."""
    with pytest.raises(SandboxError, match="less than or equal to 1"):
        Sandbox(faults=2).__enter__()
