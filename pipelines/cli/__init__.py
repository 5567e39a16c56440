"""The command `ordermart`: each command calls one function of another room.

Decides nothing but how a result is printed and which exit code an error has. Rooms are imported when a command
needs them, so that `--help` answers at once. One module a group of commands.
"""

from __future__ import annotations

import typer

from pipelines.cli import close, explain, land, ledger, questions, reconcile, runs, sandbox, totals, vault, webhooks
from pipelines.cli.options import end
from pipelines.settings import SettingsError

app = typer.Typer(
    name="ordermart",
    help="Pull orders and menus of a partner ordering service into a warehouse that adds up.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with markup, Rich drops words in brackets, such as [webhooks]
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(runs.app)
app.add_typer(questions.app)
app.add_typer(land.app, name="land")
app.add_typer(ledger.app, name="ledger")
app.add_typer(explain.app, name="explain")
app.add_typer(close.app, name="close")
app.add_typer(close.restatements_app, name="restatements")
app.add_typer(close.audit_pack_app)
app.add_typer(reconcile.app)
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(totals.app, name="totals")
app.add_typer(vault.app, name="vault")
app.add_typer(webhooks.app, name="webhooks")


def main() -> None:
    """Run the command line; an expected error is one sentence on standard error, and an exit code."""
    from pipelines.ingest.lock import RunLockedError

    try:
        app()
    except SettingsError as error:
        end(error, 2)
    except RunLockedError as error:
        end(error, 4)
    except Exception as error:
        if not type(error).__module__.startswith("pipelines."):
            raise
        end(error, 1)
