"""Share what several commands need: options, settings, output, and errors with their exit codes.

Imports nothing but typer until a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.settings import Settings

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="Settings file; default: ORDERMART_CONFIG, else ordermart.toml of the checkout or this folder."
    ),
]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Your name, recorded beside the system's user.")]
Since = Annotated[str, typer.Option("--from", metavar="DAY", help="First business day, e.g. 2026-10-01.")]
Until = Annotated[str, typer.Option("--to", metavar="DAY", help="Last business day (inclusive).")]


def load_settings(config: Path | None) -> Settings:
    """Load the settings of a command; see `pipelines.settings.load_settings`. Those of a demo are at its time."""
    from pipelines.settings import load_settings as load

    settings = load(config)
    if settings.file.name == "demo.toml":
        from pipelines.clock import follow

        follow(settings.data_dir / "sandbox" / "world.json")
    return settings


def usage_error(message: str) -> Exception:
    """Return the error for arguments that are invalid together; its exit code is 2."""
    from pipelines.settings import SettingsError

    return SettingsError(message)


def given(option: str, text: str, noun: str = "reason") -> str:
    """Return what an option was given, stripped; raise a usage error if nothing is left."""
    if not text.strip():
        raise usage_error(f"{option}: the {noun} is empty")
    return text.strip()


def say(lines: Iterable[str]) -> None:
    """Print lines; a character that the terminal's encoding lacks becomes a question mark."""
    stream = cast("TextIO", sys.stdout)
    encoding = stream.encoding or "utf-8"
    for line in lines:
        typer.echo(line.encode(encoding, "replace").decode(encoding))


def end(sentence: str, code: int) -> NoReturn:
    """Print the sentence of an error on standard error and exit with this code."""
    typer.echo(f"ordermart: {sentence}", err=True)
    sys.exit(code)
