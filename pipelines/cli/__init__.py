"""The command `ordermart`: each command calls one function of another package.

Decides nothing but how a result is printed and which exit code an error has. One module per group of commands.
Other packages are imported when a command needs them, so that `--help` imports only typer.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer
from typer.core import TyperGroup

from pipelines.cli import books, init, models, runs, shown, sources, stored, vault
from pipelines.cli.options import Config, end, write_plain_text

# As `--help` lists them.
_ORDER = (
    "run build demo retry dev status doctor init backup restore inventory questions contract mcp land ledger explain "
    "close restatements audit-pack reconcile diff sample breaks sandbox source totals verify models vault webhooks"
).split()


class _InOrder(TyperGroup):
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=[*_ORDER, *self.commands].index)


app = typer.Typer(
    name="ordermart",
    cls=_InOrder,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with markup, Rich drops words in brackets, such as [webhooks]
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (runs, shown, init, stored, sources, books):
    app.add_typer(_module.app)
app.add_typer(models.app, name="models")
app.add_typer(vault.app, name="vault")


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
