"""Run the sandbox, or another server of ours, as a child process, for the demo, and stop it reliably."""

import contextlib
import datetime as dt
import http.client
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from pipelines.resources import CHECKOUT

_READY = "ready on "


class SandboxError(Exception):
    """The sandbox did not start; the message ends with its output."""


@contextlib.contextmanager
def serving(arguments: list[str], environ: Mapping[str, str], seconds: float = 120.0) -> Iterator[tuple[str, int]]:
    """Run `python -m` with these arguments while the block runs; give the address at which it is ready, and its pid.

    It gets a pipe as its input, whose other end only this process has. Raise SandboxError if it does not start.
    """
    # A checkout need not be installed; site-packages must not come before the standard library.
    paths = [str(CHECKOUT or ""), os.environ.get("PYTHONPATH", "")]
    # A file, not a pipe, since nobody reads while the process runs.
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(  # noqa: S603 - our own module, flags of our own
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            env={**os.environ, **environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        ) as process,
    ):
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout or -1, selectors.EVENT_READ)
                line = process.stdout.readline() if process.stdout and selector.select(seconds) else None
            if line is None:
                raise SandboxError(f"{arguments[0]} was not ready within {seconds:g} s")
            if not line.startswith(_READY):
                code = process.wait(10)
                output.seek(0)
                words = output.read()[-2000:].decode(errors="replace").strip()
                raise SandboxError(f"{arguments[0]} ended with exit code {code}: {words}")
            yield line.removeprefix(_READY).strip(), process.pid
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


class Sandbox:
    """A running sandbox: `with Sandbox(orders=100) as sandbox: sandbox.base_url`.

    Keywords are the flags of `serve`; the port is a free one unless named. The child ends with this process, however
    that ends, as its input ends then.
    """

    def __init__(self, **flags: object) -> None:
        self.flags = {"port": 0, **flags}
        self.base_url, self.pid = "", 0
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.base_url, self.pid = self._open.enter_context(serving(self.command(), {}))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def command(self) -> list[str]:
        """Return the module that serves, and its arguments."""
        flags = {f"--{name.replace('_', '-')}": value for name, value in self.flags.items() if value is not None}
        said = [name if value is True else f"{name}={value}" for name, value in flags.items()]
        return ["pipelines.sandbox", "--watch-stdin", *said]

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
