"""The command `ordermart`: each command calls one function of another package.

Decides nothing but how a result is printed and which exit code an error has. One module per group of commands.
Other packages are imported when a command needs them, so that `--help` imports only typer.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pipelines.cli import (
    backup,
    breaks,
    close,
    explain,
    init,
    inventory,
    land,
    ledger,
    mcp,
    questions,
    reconcile,
    releases,
    runs,
    sandbox,
    source,
    status,
    totals,
    vault,
    verify,
    webhooks,
)
from pipelines.cli.options import Config, end
from pipelines.cli.terminal import write_plain_text

app = typer.Typer(
    name="ordermart",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with markup, Rich drops words in brackets, such as [webhooks]
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(runs.app)
app.add_typer(status.app)
app.add_typer(init.app)
app.add_typer(backup.app)
app.add_typer(inventory.app)
app.add_typer(questions.app)
app.add_typer(mcp.app)
app.add_typer(land.app, name="land")
app.add_typer(ledger.app, name="ledger")
app.add_typer(explain.app, name="explain")
app.add_typer(close.app, name="close")
app.add_typer(close.restatements_app, name="restatements")
app.add_typer(close.audit_pack_app)
app.add_typer(reconcile.app)
app.add_typer(releases.app)
app.add_typer(breaks.app, name="breaks")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(source.app, name="source")
app.add_typer(totals.app, name="totals")
app.add_typer(verify.app)
app.add_typer(vault.app, name="vault")
app.add_typer(webhooks.app, name="webhooks")


def _print_version(value: bool) -> None:
    if value:
        import importlib.metadata

        typer.echo(f"ordermart {importlib.metadata.version('ordermart')}")
        raise typer.Exit


@app.callback()
def ordermart(
    *,
    version: Annotated[  # noqa: ARG001 -- its callback prints it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    config: Config = None,
) -> None:
    """Ingest orders and menus from a partner ordering service into a warehouse that adds up.

    Start with `ordermart demo`, which needs no service; for your own service with `ordermart init FILE`.
    """
    if config is not None:  # as each command's own --config, which takes precedence
        os.environ["ORDERMART_CONFIG"] = str(config)


def main() -> None:
    """Run the command line; an expected error is one sentence on standard error and an exit code."""
    from pipelines.durable import write_privately

    write_privately()
    write_plain_text()
    try:
        app()
    except Exception as error:
        from pipelines.report.text import sentence_of
        from pipelines.run.exit_codes import code_of_error

        sentence = sentence_of(error)
        if sentence is None:
            raise
        end(sentence, code_of_error(error))
