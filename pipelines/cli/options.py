"""Options that several commands take, and how a command ends with an expected error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; default: ORDERMART_CONFIG, else ordermart.toml of the checkout."),
]


def say(lines: Iterable[str]) -> None:
    """Print lines; a sign that the terminal's encoding lacks becomes a question mark."""
    stream = cast("TextIO", sys.stdout)
    encoding = stream.encoding or "utf-8"
    for line in lines:
        typer.echo(line.encode(encoding, "replace").decode(encoding))


def end(error: Exception, code: int) -> NoReturn:
    """Say the error in one sentence on standard error, and end with this code."""
    typer.echo(f"ordermart: {error}", err=True)
    sys.exit(code)
