"""The command `ordermart`: each command calls one function of another package.

Decides nothing but how a result is printed and which exit code an error has. One module per group of commands.
Other packages are imported when a command needs them, so that `--help` imports only typer.
"""

import gc
import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pipelines.cli import books, runs, service, settlements, stored
from pipelines.cli.options import Config, end, write_plain_text

# As `--help` lists them; a command without a group would not be listed.
GROUPS = {
    "Nights": "run build retry land dev status doctor backup restore inventory verify",
    "Finance": "reconcile breaks totals settlements close restatements journal audit-pack ledger",
    "People's data": "vault",
    "Service": "init questions contract webhooks source sandbox",
    "Explore": "demo explain diff models copy mcp",
}


class _InGroups(TyperGroup):
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        order = " ".join(GROUPS.values()).split()
        return sorted(super().list_commands(ctx), key=[*order, *self.commands].index)

    def format_commands(self, _ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        limit = formatter.width - 6 - max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in names.split()])


app = typer.Typer(
    name="ordermart",
    cls=_InGroups,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with markup, Rich drops words in brackets, such as [webhooks]
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (runs, stored, service, books, settlements):
    app.add_typer(_module.app)


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

    # A command keeps most objects that it imports and makes: looking for garbage takes a twelfth of a build.
    gc.set_threshold(50_000)
    write_privately()
    write_plain_text()
    try:
        app()
    except Exception as error:
        from pipelines.record import code_of_error
        from pipelines.report.text import sentence_of

        if (sentence := sentence_of(error)) is None:
            raise
        end(sentence, code_of_error(error))
