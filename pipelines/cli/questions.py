"""The commands that tell what the interface does not show: questions, contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

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


@app.command()
def contract(
    *,
    openapi: Annotated[bool, typer.Option("--openapi", help="As an OpenAPI 3.1 document, in JSON.")] = False,
    file: Annotated[
        Path | None, typer.Argument(dir_okay=False, help="Where to write; default: standard output.")
    ] = None,
    config: Config = None,
) -> None:
    """Show the interface as documented and as observed: every field with its types, nulls and counts.

    Reads the current release. In the OpenAPI document, what was observed and is not documented is marked x-observed.
    Exit codes: 0; 1 there is no release yet; 2 wrong settings.
    """
    from pipelines.report import openapi as report

    settings = load_settings(config)
    text = report.openapi(settings) if openapi else report.fields(settings) + "\n"
    if file is None:
        typer.echo(text, nl=False)
    else:
        file.write_text(text, encoding="utf-8")
