"""Options that several commands take, and how a command ends with an expected error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; default: ORDERMART_CONFIG, else ordermart.toml of the checkout."),
]


def end(error: Exception, code: int) -> NoReturn:
    """Say the error in one sentence on standard error, and end with this code."""
    typer.echo(f"ordermart: {error}", err=True)
    sys.exit(code)
