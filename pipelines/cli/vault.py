"""`ordermart vault`: manage the vault of personal data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Manage the encrypted personal-data vault.", no_args_is_help=True)


@app.callback()
def vault() -> None:
    """Keep `generate-keys` a subcommand: a single command would replace its group."""


@app.command("generate-keys")
def vault_generate_keys(
    file: Annotated[Path, typer.Argument(help="New file, created with mode 600. Keep a copy elsewhere.")],
) -> None:
    """Generate the two secrets of a vault in a new file; encrypted data cannot be recovered without them."""
    from pipelines.vault import new_key_file

    new_key_file(file)
    typer.echo(f"Wrote {file}: set [vault] key_file to it, or ORDERMART_VAULT__… to the values in it.")
