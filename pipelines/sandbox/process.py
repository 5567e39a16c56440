"""The stand-in as a process of its own, for tests and the demo: started, ready, and stopped for sure.

Knows nothing of what is served.
"""

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
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pipelines.resources import CHECKOUT

if TYPE_CHECKING:
    from types import TracebackType

_READY = "ready on "


class SandboxError(Exception):
    """The stand-in did not start; the message ends with what it said."""


class Sandbox:
    """A running stand-in: `with Sandbox(orders=100) as sandbox: sandbox.base_url`.

    Keywords are those of `serve`, `trouble` and `webhooks` as dicts; the port is a free one unless named. The child
    watches a pipe whose other end only this process holds: it ends with this process, however that dies.
    """

    def __init__(self, *, start_seconds: float = 120.0, **flags: object) -> None:
        self._flags = {"port": 0, **flags}
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[str] | None = None
        # A file, not a pipe: nobody reads while the process lives.
        self._said: IO[bytes] | None = None
        self.base_url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id; SandboxError when it is not running."""
        if self._process is None:
            raise SandboxError("the stand-in is not running")
        return self._process.pid

    def start(self) -> None:
        """Start the process and wait until it accepts connections."""
        command = [sys.executable, "-m", "pipelines.sandbox", "--watch-stdin"]
        for name, value in self._flags.items():
            flag = f"--{name.replace('_', '-')}"
            if isinstance(value, dict):
                command += [f"{flag}={key}={_text(each)}" for key, each in value.items()]
            elif isinstance(value, list | tuple):
                command += [f"{flag.removesuffix('s')}={each}" for each in value]
            elif value is not None:
                command.append(f"{flag}={value}")
        # A checkout need not be installed; site-packages must not come before the standard library.
        paths = [str(CHECKOUT or ""), os.environ.get("PYTHONPATH", "")]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._process = subprocess.Popen(  # noqa: S603 - our own module, flags of our own
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        try:
            self.base_url = self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the process; kill it if it does not go."""
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
        for pipe in (process.stdin, process.stdout, self._said):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def served(self) -> Any:
        """Return what it was asked, what it answered and what it spoiled (see `desk`)."""
        return self._desk("GET", "served")

    def forget(self) -> None:
        """Let it forget what it was asked."""
        self._desk("DELETE", "served")

    def set_faults(self, **trouble: object) -> None:
        """Let another trouble begin: the flags of Trouble, none for a calm service."""
        self._desk("POST", "faults", trouble)

    def tell(self, **webhooks: object) -> None:
        """Let webhooks be sent otherwise: the flags of Webhooks, none for nobody."""
        self._desk("POST", "webhooks", webhooks)

    def move(self, now: dt.datetime) -> int:
        """Move the world's clock; return how many webhooks are sent because of it."""
        return int(self._desk("POST", "clock", {"now": now.isoformat()})["webhooks"])

    def clock(self) -> dict[str, dt.datetime]:
        """Return where the world's clock stands (now), and when its days begin and end (start, end)."""
        shown = self._desk("GET", "clock")
        return {name: dt.datetime.fromisoformat(shown[name]) for name in ("now", "start", "end")}

    def revoke(self) -> None:
        """Let it refuse every token that it has issued."""
        self._desk("POST", "revoke", {})

    def _desk(self, method: str, name: str, body: object = None) -> Any:
        place = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, f"/_sandbox/{name}", None if body is None else json.dumps(body))
            answer = connection.getresponse()
            said = json.loads(answer.read())
        if answer.status != 200:
            raise SandboxError(said["error"])
        return said

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
                    raise SandboxError(f"the stand-in ended with exit code {process.returncode}: {self._last_words()}")
        raise SandboxError(f"the stand-in was not ready within {self._start_seconds:g} s")

    def _last_words(self) -> str:
        assert self._said is not None  # noqa: S101 - opened with the process
        self._said.seek(0)
        return self._said.read()[-2000:].decode(errors="replace").strip()


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value).lower()
