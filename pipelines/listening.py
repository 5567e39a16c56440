"""Serve an application on a port until SIGTERM or SIGINT: the common part of webhook receiver and sandbox."""

import asyncio
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_BACKLOG = 1024


class ListenError(Exception):
    """Nothing can listen on this address; the message says why."""


def claimed(host: str, port: int = 0) -> int:
    """Return the port, a free one for 0. Raise ListenError if it is in use: the server would share it silently."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None
        return int(probe.getsockname()[1])


async def serve_until_stopped(
    app: "ASGIApp", host: str, port: int, path: str, *, patience_seconds: float, **options: Any
) -> None:
    """Serve until told to stop, and print where, with this path, once the first connection is accepted.

    `patience_seconds` is the time that open connections have at the end; `options` are Granian's.
    """
    server = Server(
        app, address=host, port=port, interface=Interfaces.ASGINL, http=HTTPModes.http1, backlog=_BACKLOG,
        log_enabled=False, websockets=False, **options,
    )  # fmt: skip
    server.workers_kill_timeout = patience_seconds  # type: ignore[assignment]
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, server.stop)
    serving = asyncio.create_task(server.serve())
    while not serving.done():
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            sys.stdout.write(f"ready on http://{host}:{port}{path}\n")
            sys.stdout.flush()
            break
    await serving
