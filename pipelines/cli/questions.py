"""The commands that tell what the interface does not show: questions, contract."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config
from pipelines.settings import load_settings

app = typer.Typer()


@app.command()
def questions(
    *,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a letter to the partner, in Markdown.")] = False,
    config: Config = None,
) -> None:
    """List what the interface does not show: what is assumed, what the data show, how many orders depend on it.

    The data are those of the current release (audit.questions); what is assumed is as the settings stand now.
    Exit codes: 0; 1 there is no release yet; 2 wrong settings.
    """
    from pipelines.report.questions import questions as told

    typer.echo(told(load_settings(config), markdown=markdown))
