"""Serve a world over HTTP on loopback until told to stop.

Knows how a server is started and stopped; what it says is in `app`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

from pipelines.listening import ListenError, claimed, serve_until_stopped
from pipelines.sandbox.app import Service, make_app
from pipelines.sandbox.control_api import ControlApi
from pipelines.sandbox.dialects import DIALECTS
from pipelines.sandbox.trouble import pairs
from pipelines.sandbox.trouble import trouble as trouble_of
from pipelines.sandbox.truth import write_ids, write_truth
from pipelines.sandbox.webhooks import webhooks as webhooks_of
from pipelines.sandbox.world import Config, World

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.applications import Starlette

DEFAULTS = Config()
# How long to wait at the end for clients that keep their connection open.
_PATIENCE_SECONDS = 1


class ServeError(Exception):
    """The sandbox cannot be started; the message says why."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8600,
    seed: int = DEFAULTS.seed,
    stores: int = DEFAULTS.stores,
    orders: int = DEFAULTS.orders,
    days: int = DEFAULTS.days,
    until: dt.date = DEFAULTS.until,
    faults: float = DEFAULTS.faults,
    truth: Path | None = None,
    ids: Path | None = None,
    client_id: str = "sandbox",
    client_secret: str = "sandbox",  # noqa: S107 - a stand-in's, not a secret
    token_life_seconds: int = 3600,
    menu_faults: float | None = None,
    fault_kinds: Sequence[str] = (),
    dialect: str = "standard",
    trouble: Sequence[str] = (),
    webhooks: Sequence[str] = (),
    story: bool = False,
    watch_stdin: bool = False,
) -> NoReturn:
    """Generate the world and serve it; print one line when ready; end the process on SIGTERM or SIGINT.

    `truth` and `ids` name files written before that line: the planted faults as JSON lines, and every order id, one
    per line. Port 0 means any free one. With `watch_stdin` the end of standard input stops the server: a parent with
    the other end of the pipe cannot leave it behind, however it ends. `trouble` and `webhooks` are flags of Trouble and
    Webhooks, written name=value. Raise ServeError if the port is taken, ValueError for invalid numbers and flags.
    """
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: sys.exit(0))  # while the world is made; the server has its own
    if watch_stdin:
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    try:
        claimed(host, port)
    except ListenError as error:
        raise ServeError(str(error)) from None
    config = Config(
        seed=seed,
        stores=stores,
        orders=orders,
        days=days,
        until=until,
        faults=faults,
        menu_faults=menu_faults,
        fault_kinds=tuple(fault_kinds),
        story=story,
    )
    service_faults, sending = trouble_of(pairs(trouble)), webhooks_of(pairs(webhooks))
    world = World(config)
    service = Service(
        world,
        client_id=client_id,
        client_secret=client_secret,
        token_life_seconds=token_life_seconds,
        dialect=DIALECTS[dialect](),
    )
    service.set_faults(service_faults)
    control = ControlApi(service)
    control.sender.use(sending)
    if truth is not None:
        write_truth(world, truth)
    if ids is not None:
        write_ids(world, ids)
    run(make_app(service, control=control.routes()), host=host, port=port, prefix=service.dialect.prefix)
    # Granian's threads may still be closing connections, and crash when Python is taken down under them.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def run(app: Starlette, *, host: str = "127.0.0.1", port: int = 0, prefix: str = "") -> None:
    """Serve an application until SIGTERM or SIGINT, after printing where it is."""
    asyncio.run(serve_until_stopped(app, host, port or claimed(host), prefix, patience_seconds=_PATIENCE_SECONDS))


def _stop_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
