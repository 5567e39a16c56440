"""`ordermart source`: the address of the partner service that the landed data came from."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import As, Config, load_settings

app = typer.Typer(help="Follow a partner service to another address.", no_args_is_help=True)


@app.callback()
def source() -> None:
    """Keep `move` a subcommand: typer merges a single command into its group."""


@app.command("move", short_help="Accept another address of the same service.")
def source_move(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Address that the data came from.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Address now in [partner] base_url.")],
    *,
    name: As = "",
    config: Config = None,
) -> None:
    """Accept NEW as the address of the service that the data came from, after comparing documents of both.

    The newest ten documents of each kind are requested at NEW and OLD. Those at NEW must have the id, store and
    creation that are held; OLD may be gone. The move is recorded in the ledger.

    Exit codes: 0 moved; 1 NEW is another service, nothing is changed; 2 the settings or the data name other addresses.
    """
    from pipelines.ingest.source_move import move_source
    from pipelines.ledger.decisions import current_user

    done = move_source(load_settings(config), old, new, current_user(name))
    typer.echo(f"Moved: {new} has {done.at_new} of {done.held} documents as held; {old} answers {done.at_old}.")
