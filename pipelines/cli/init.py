"""`ordermart init`: write the first settings file for a service."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from pipelines.cli.options import say, usage_error

app = typer.Typer()


@app.command(short_help="Ask for a service, test it, and write its settings.")
def init(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="Settings file to write, such as shop.toml.")],
    *,
    base_url: Annotated[str, typer.Option(metavar="URL", help="Address of the service; asked for if left out.")] = "",
    client_id: Annotated[str, typer.Option(help="The client_id; asked for if left out.")] = "",
) -> None:
    """Ask for a service and its credentials, test them, and write a settings file, the vault's keys and the secret.

    The client secret is asked for, or taken from ORDERMART_PARTNER__CLIENT_SECRET; it is written to a file of mode 600
    beside the settings. Nothing is fetched but a token and the list of stores.

    Exit codes: 0 written; 2 the file exists, or an answer is invalid; 3 written, but the service could not be tried.
    """
    from pipelines.durable import make_folder, write_whole
    from pipelines.report.first_settings import assumed, first_record, proposed, settings_text
    from pipelines.settings import load_settings
    from pipelines.vault import new_key_file

    if file.exists():
        raise usage_error(f"{file} exists: name a new file, or edit it")
    folder = file.absolute().parent
    keys, secret_file = folder / f"{file.stem}-keys.json", folder / f"{file.stem}-client-secret"
    base_url = base_url or typer.prompt("Address of the service (https://…)")
    client_id = client_id or typer.prompt("client_id")
    secret = os.environ.get("ORDERMART_PARTNER__CLIENT_SECRET") or typer.prompt("client_secret", hide_input=True)
    make_folder(folder)
    draft = folder / f".{file.name}.draft"
    texts = base_url, f"{file.stem}-data", keys.name
    environ = {"ORDERMART_PARTNER__CLIENT_ID": client_id, "ORDERMART_PARTNER__CLIENT_SECRET": secret}
    try:
        draft.write_text(settings_text(*texts, None), encoding="utf-8")
        record, why = first_record(load_settings(draft, environ))
        pointers = proposed(record) if record is not None else None
        write_whole(file, settings_text(*texts, pointers).encode())
    finally:
        draft.unlink(missing_ok=True)
    if not keys.exists():
        new_key_file(keys)
    secret_file.touch(mode=0o600)
    secret_file.chmod(0o600)  # it may have been there
    secret_file.write_text(secret + "\n", encoding="utf-8")
    lines = [f"Wrote {file}, {keys.name} and {secret_file.name}. Keep a copy of the keys elsewhere."]
    if pointers is None:
        lines.append(f"The service could not be tried: {why}. Correct {file}, then `ordermart --config {file} doctor`.")
    else:
        found = ", ".join(f"{name} {value}" for name, value in pointers.items() if value)
        lines.append(f"The service answers. Its store record has: {found}.")
    lines += ["Still assumed:", *(f"  {sentence}" for sentence in assumed(pointers)), "Next:"]
    named, of = quote(str(file)), quote(str(secret_file))
    lines += [
        f"  export ORDERMART_PARTNER__CLIENT_ID={quote(client_id)} ORDERMART_PARTNER__CLIENT_SECRET_FILE={of}",
        f"  ordermart --config {named} doctor",
        f"  ordermart --config {named} run --order-ids FILE",
    ]
    say(lines)
    raise typer.Exit(0 if pointers is not None else 3)
