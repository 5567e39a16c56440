"""The commands about the interface: its open questions, and its fields as observed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

app = typer.Typer()


@app.command(short_help="List open questions about the partner's interface.")
def questions(
    *,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a letter to the partner, in Markdown.")] = False,
    config: Config = None,
) -> None:
    """List open questions about the interface, with assumption, evidence and the number of orders affected.

    Evidence comes from the current release (audit.questions), assumptions from the current settings.
    Exit codes: 0 shown; 1 there is no release yet; 2 invalid settings.
    """
    from pipelines.report.questions import questions as listing

    typer.echo(listing(load_settings(config), markdown=markdown))


@app.command(short_help="Show the interface's fields, documented and observed.")
def contract(
    *,
    openapi: Annotated[bool, typer.Option("--openapi", help="Write an OpenAPI 3.1 document, in JSON.")] = False,
    file: Annotated[Path | None, typer.Argument(dir_okay=False, help="Output file; default: standard output.")] = None,
    config: Config = None,
) -> None:
    """Show every field of the interface as documented and as observed, with types, nulls and counts.

    Reads the current release. The OpenAPI document marks fields that are observed but not documented as x-observed.
    Exit codes: 0 shown; 1 there is no release yet; 2 invalid settings.
    """
    from pipelines.report import openapi as report

    settings = load_settings(config)
    text = report.openapi(settings) if openapi else report.fields(settings) + "\n"
    if file is None:
        typer.echo(text, nl=False)
    else:
        file.write_text(text, encoding="utf-8")
