"""Deliver the demo's webhooks as in a running installation: the sandbox signs and sends, the real receiver listens.

The receiver is `ordermart webhooks serve` in a process of its own, and ends once every webhook is answered.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from pipelines.resources import CHECKOUT

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from pipelines.sandbox.process import Sandbox
    from pipelines.settings import Settings

_READY = "ready on "
_LOST = 0.02  # share of the webhooks that are never sent: only the random sample finds those changes
_PATIENCE_SECONDS = 120.0


class DeliveryError(Exception):
    """The demo's receiver did not start, or did not answer every webhook; the message says which."""


def advance_with_webhooks(settings: Settings, sandbox: Sandbox, now: dt.datetime) -> int:
    """Move the world's clock to `now` while the receiver listens; return how many webhooks were acknowledged."""
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
    with _receiver(settings, secret) as address:
        sandbox.clear_record()
        sandbox.set_webhooks(to=address, signature="standard_webhooks", secret=secret, lost=_LOST, at_once=4)
        try:
            sandbox.set_clock(now)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while (sent := sandbox.served()["webhooks"])["pending"]:
                if time.monotonic() > deadline:
                    raise DeliveryError(f"{sent['pending']} webhooks were not answered in {_PATIENCE_SECONDS:g} s")
                time.sleep(0.1)
        finally:
            sandbox.set_webhooks()
    return len(sent["acknowledged"])


@contextlib.contextmanager
def _receiver(settings: Settings, secret: str) -> Iterator[str]:
    """Run the receiver on a free port; give its address."""
    command = [sys.executable, "-m", "pipelines.cli", "webhooks", "serve", "--port", "0"]
    signed = {"ORDERMART_WEBHOOKS__SIGNATURE": "standard_webhooks", "ORDERMART_WEBHOOKS__SECRET": secret}
    paths = os.pathsep.join(filter(None, (str(CHECKOUT or ""), os.environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--config", str(settings.file)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **signed, "PYTHONPATH": paths},
    )
    try:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = process.stdout.readline()
        if not line.startswith(_READY):
            raise DeliveryError(f"the webhook receiver ended with exit code {process.wait(10)}")
        yield line.removeprefix(_READY).strip()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
