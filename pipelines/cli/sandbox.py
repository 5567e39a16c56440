"""`ordermart sandbox`: run the stand-in partner service."""

from __future__ import annotations

import typer

from pipelines.sandbox.__main__ import serve

app = typer.Typer(help="Run the sandbox, a stand-in partner service.", no_args_is_help=True)
app.command("serve", short_help="Serve a generated partner service on loopback.")(serve)


@app.callback()
def sandbox() -> None:
    """Keep `serve` a subcommand: a single command would replace its group."""
