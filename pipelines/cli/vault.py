"""`ordermart vault`: the room of personal data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The room of personal data.", no_args_is_help=True)


@app.callback()
def vault() -> None:
    """Keep `generate-keys` a word of its own."""


@app.command("generate-keys")
def vault_generate_keys(
    file: Annotated[Path, typer.Argument(help="A new file, made with mode 600. Keep a copy elsewhere.")],
) -> None:
    """Make the two secrets of a vault in a new file; without them nothing sealed can ever be opened again."""
    from pipelines.vault import new_key_file

    new_key_file(file)
    typer.echo(f"Wrote {file}: name it as [vault] key_file, or set ORDERMART_VAULT__… from what it holds.")
