"""`ordermart inventory`: compare what cannot be rebuilt with its record."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import As, Config, given, load_settings, say

app = typer.Typer()


@app.command(short_help="Compare what cannot be rebuilt with its record.")
def inventory(
    *,
    accept: Annotated[
        str, typer.Option(metavar="REASON", help="Record what is there now: what is lost is given up. Not the ledger.")
    ] = "",
    name: As = "",
    config: Config = None,
) -> None:
    """Read every file that cannot be rebuilt and compare it with the inventory; name what is missing or damaged.

    Exit codes: 0 everything is as recorded, or was accepted; 1 the ledger is damaged, which cannot be accepted; 2
    invalid usage; 3 files are damaged: they are named, with what to do; 4 another run holds the lock.
    """
    from pipelines.backup.comparing import compare
    from pipelines.backup.mending import accept_losses
    from pipelines.ingest.lock import run_lock
    from pipelines.ledger.decisions import current_user

    settings = load_settings(config)
    if accept:
        with run_lock(settings.data_dir, "ordermart inventory"):
            found = accept_losses(settings, given("--accept", accept), current_user(name))
        say([*(damage.sentence() for damage in found.damages), "Accepted: the inventory is of what is there now."])
        return
    found = compare(settings)
    say([*(damage.sentence() for damage in found.damages), f"{found.sentence()}."])
    raise typer.Exit(3 if found.damages else 0)
