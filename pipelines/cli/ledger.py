"""`ordermart ledger`: check the hash-chained record of closes, control totals and restatements."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say

app = typer.Typer(help="Check the hash-chained ledger.", no_args_is_help=True)


@app.callback()
def ledger() -> None:
    """Keep `verify` a subcommand: typer merges a single command into its group."""


@app.command("verify", short_help="Verify the ledger and print its head.")
def ledger_verify(
    *,
    expect_head: Annotated[
        str, typer.Option(metavar="HASH", help="Fail unless an entry has this hash: a head kept elsewhere.")
    ] = "",
    config: Config = None,
) -> None:
    """Verify every entry and row file of the ledger, and print its head; keep a copy of the head elsewhere.

    The chain must go on from the heads in the inventory, in the vault and in [ledger] witness. Exit codes: 0 the ledger
    is intact; 1 it is not, no entry has HASH, or a head is of another chain or key, or is gone. Entries with a time
    before the last one's, or ahead of the clock, are named; they are kept, and the exit code stays 0.
    """
    from pipelines.ledger import ledger_of, verify
    from pipelines.ledger.signed_head import checked_heads
    from pipelines.report.closes_and_breaks import verified

    settings = load_settings(config)
    ledger = ledger_of(settings.data_dir)
    done = verify(ledger, expect_head)
    say([verified(done), *(checked_heads(settings, ledger))])
