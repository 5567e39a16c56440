"""`ordermart sandbox`: run the stand-in partner service."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import end

app = typer.Typer(help="Run the sandbox, a stand-in partner service.", no_args_is_help=True)

_LAST_DAY = datetime(2026, 10, 31)  # noqa: DTZ001 -- a day, not a moment


@app.callback()
def sandbox() -> None:
    """Keep `serve` a subcommand: a single command would replace its group."""


@app.command("serve", short_help="Serve a generated partner service on loopback.")
def sandbox_serve(
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
) -> None:
    """Serve a generated partner service on loopback until stopped: a seeded world with known faults."""
    from pipelines.sandbox.serve import ServeError, serve

    try:
        serve(
            port=port,
            seed=seed,
            stores=stores,
            orders=orders,
            days=days,
            until=until.date(),
            faults=faults,
            truth=truth,
            ids=ids,
            client_id=client_id,
            client_secret=client_secret,
        )
    except (ServeError, ValueError) as error:
        end(str(error), 2)
