"""Run the sandbox as a child process, for the demo, and stop it reliably."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Self
from urllib.parse import urlsplit

from pipelines.resources import CHECKOUT

_READY = "ready on "


class SandboxError(Exception):
    """The sandbox did not start; the message ends with its output."""


class Sandbox:
    """A running sandbox: `with Sandbox(orders=100) as sandbox: sandbox.base_url`.

    Keywords are the flags of `serve`; the port is a free one unless named. The child watches a pipe whose other end
    only this process has, so it ends with this process, however that ends.
    """

    def __init__(self, *, start_seconds: float = 120.0, **flags: object) -> None:
        self.flags = {"port": 0, **flags}
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[str] | None = None
        # A file, not a pipe, since nobody reads while the process runs.
        self._output: IO[bytes] | None = None
        self.base_url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id; SandboxError when it is not running."""
        if self._process is None:
            raise SandboxError("the sandbox is not running")
        return self._process.pid

    def command(self) -> list[str]:
        """Return the module that serves, and its arguments."""
        flags = {f"--{name.replace('_', '-')}": value for name, value in self.flags.items() if value is not None}
        said = [name if value is True else f"{name}={value}" for name, value in flags.items()]
        return ["pipelines.sandbox", "--watch-stdin", *said]

    def start(self) -> None:
        """Start the process and wait until it accepts connections."""
        # A checkout need not be installed; site-packages must not come before the standard library.
        paths = [str(CHECKOUT or ""), os.environ.get("PYTHONPATH", "")]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._process = subprocess.Popen(  # noqa: S603 - our own module, flags of our own
            [sys.executable, "-m", *self.command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        try:
            self.base_url = self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the process; kill it if it does not end."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, self._output):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def set_webhooks(self, **webhooks: object) -> None:
        """Change how webhooks are sent, and count from 0: the fields of Webhooks, none to send none."""
        self.control("POST", "webhooks", webhooks)

    def sent(self) -> dict[str, int]:
        """Return how many webhooks are pending, acknowledged and refused."""
        counts: dict[str, int] = self.control("GET", "webhooks")
        return counts

    def set_clock(self, now: dt.datetime) -> int:
        """Set the world's clock; return how many webhooks this sends."""
        return int(self.control("POST", "clock", {"now": now.isoformat()})["webhooks"])

    def clock(self) -> dict[str, dt.datetime]:
        """Return the world's time (now), and when its days begin and end (start, end)."""
        shown = self.control("GET", "clock")
        return {name: dt.datetime.fromisoformat(shown[name]) for name in ("now", "start", "end")}

    def control(self, method: str, name: str, body: object = None) -> Any:
        """Ask its control API."""
        place = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, f"/_sandbox/{name}", None if body is None else json.dumps(body))
            answer = connection.getresponse()
            shown = json.loads(answer.read())
        if answer.status != 200:
            raise SandboxError(shown["error"])
        return shown

    def _await_ready(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        deadline = time.monotonic() + self._start_seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                line = process.stdout.readline()
                if line.startswith(_READY):
                    return line.removeprefix(_READY).strip()
                if not line:
                    process.wait(10)
                    raise SandboxError(f"the sandbox ended with exit code {process.returncode}: {self._last_words()}")
        raise SandboxError(f"the sandbox was not ready within {self._start_seconds:g} s")

    def _last_words(self) -> str:
        assert self._output is not None  # noqa: S101 - opened with the process
        self._output.seek(0)
        return self._output.read()[-2000:].decode(errors="replace").strip()
