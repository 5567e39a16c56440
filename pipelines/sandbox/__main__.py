"""The command `ordermart sandbox serve`, and `python -m pipelines.sandbox`: the one list of the sandbox's flags.

Serves a world over HTTP on loopback until told to stop. Flags for the demo are hidden from help.
"""

import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from pipelines.sandbox.world import Config, World

_HOST = "127.0.0.1"
_PATIENCE_SECONDS = 1  # how long to wait at the end for clients that keep their connection open

_LAST_DAY = datetime(2026, 10, 31)  # noqa: DTZ001 -- a day, not a moment


def serve(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 8600,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    stores: Annotated[int, typer.Option(min=1, help="Number of stores.")] = 30,
    orders: Annotated[int, typer.Option(min=0, help="Number of orders.")] = 5000,
    days: Annotated[int, typer.Option(min=1, help="Number of days with orders.")] = 28,
    faults: Annotated[float, typer.Option(min=0, max=1, help="Share of orders and menus with a planted fault.")] = 0.0,
    truth: Annotated[Path | None, typer.Option(help="Write the planted faults to this file, as JSON lines.")] = None,
    ids: Annotated[Path | None, typer.Option(help="Write all order ids to this file, one per line.")] = None,
    until: Annotated[datetime, typer.Option(formats=["%Y-%m-%d"], help="Last day with orders.")] = _LAST_DAY,
    client_id: Annotated[str, typer.Option(help="The client_id to accept.")] = "sandbox",
    client_secret: Annotated[str, typer.Option(help="The client_secret to accept.")] = "sandbox",  # noqa: S107
    story: Annotated[bool, typer.Option("--story", hidden=True, help="The demo's world.")] = False,
    watch_stdin: Annotated[bool, typer.Option("--watch-stdin", hidden=True, help="Stop when input ends.")] = False,
) -> None:
    """Serve a generated partner service on loopback until stopped: a seeded world with known faults."""
    from pipelines.sandbox.app import Service, make_app
    from pipelines.sandbox.world import Config

    serve_world(
        Config(seed=seed, stores=stores, orders=orders, days=days, until=until.date(), faults=faults, story=story),
        lambda world: make_app(Service(world, (client_id, client_secret))),
        port=port,
        truth=truth,
        ids=ids,
        watch_stdin=watch_stdin,
    )


def serve_world(
    config: "Config",
    application: "Callable[[World], ASGIApp]",
    *,
    port: int,
    path: str = "",
    truth: Path | None = None,
    ids: Path | None = None,
    watch_stdin: bool = False,
) -> NoReturn:
    """Make a world, serve its application on loopback until told to stop, and exit: 2 if it cannot be served.

    `path` ends the address that is printed; `watch_stdin` stops it when its input ends.
    """
    import asyncio

    import msgspec

    from pipelines.listening import ListenError, claimed, serve_until_stopped
    from pipelines.sandbox.world import World

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: sys.exit(0))  # while the world is made; the server has its own
    if watch_stdin:  # a parent with the other end of the pipe cannot leave this process behind, however it ends
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    try:
        claimed(_HOST, port)
        world = World(config)
    except (ListenError, ValueError) as wrong:
        sys.stderr.write(f"ordermart: {wrong}\n")
        sys.exit(2)
    app = application(world)
    if truth is not None:
        truth.write_bytes(b"".join(msgspec.json.encode(fault) + b"\n" for fault in world.truth()))
    if ids is not None:
        ids.write_text("".join(f"{order_id}\n" for order_id in world.order_ids), encoding="ascii")
    port = port or claimed(_HOST)
    asyncio.run(serve_until_stopped(app, _HOST, port, path, patience_seconds=_PATIENCE_SECONDS))
    # Granian's threads may still be closing connections, and crash when Python is taken down under them.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _stop_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(serve)
    app()
