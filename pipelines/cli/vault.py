"""`ordermart vault`: manage the vault of personal data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Locked, given, leave, prepared, say, usage_error

if TYPE_CHECKING:
    from pipelines.ledger.decisions import User
    from pipelines.privacy import Asked
    from pipelines.settings import Settings

app = typer.Typer(help="Manage the encrypted personal-data vault.", no_args_is_help=True)

OrderId = Annotated[int | None, typer.Option("--order-id", metavar="N", help="The customer of this order.")]
Phone = Annotated[bool, typer.Option("--phone", help="Ask for a phone number, or read it from standard input.")]
Email = Annotated[bool, typer.Option("--email", help="Ask for an e-mail address, or read it from standard input.")]


def _asked(order_id: int | None, *, phone: bool, email: bool) -> Asked:
    """Return what a person is found by; a phone number or an e-mail address is never an argument."""
    from pipelines.privacy import Asked

    if (order_id is not None) + phone + email != 1:
        raise usage_error("give one of --order-id N, --phone and --email")
    if order_id is not None:
        return Asked("order_id", str(order_id))
    what = "Phone number" if phone else "E-mail address"
    value = typer.prompt(what, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not value.strip():
        raise usage_error(f"no {what.lower()} was given on standard input")
    return Asked("phone" if phone else "email", value.strip())


@app.command("generate-keys", short_help="Generate the two secrets of a vault.")
def vault_generate_keys(
    file: Annotated[Path, typer.Argument(help="New file, created with mode 600. Keep a copy elsewhere.")],
) -> None:
    """Generate the two secrets of a vault in a new file; encrypted data cannot be recovered without them."""
    from pipelines.vault import VaultError, new_key_file

    try:
        new_key_file(file)
    except FileExistsError:
        raise VaultError(f"{file} exists, and keys are never overwritten: name another file") from None
    except OSError as error:
        raise VaultError(f"{file} cannot be written: {error.strerror}") from None
    typer.echo(f"Wrote {file}: set [vault] key_file to it, or ORDERMART_VAULT__… to the values in it.")


@app.command("erase", short_help="Erase a customer.")
@prepared
def vault_erase(
    *,
    order_id: OrderId = None,
    phone: Phone = False,
    email: Email = False,
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Erase a customer: destroy key, lookup hashes and every encrypted version, then rebuild and publish.

    The ledger records the erasure without personal data. Amounts and other customers stay as they are. Personal data of
    an erased order is never stored again. It cannot be undone. If it is killed, the same command or the next run
    finishes it. Exit codes: 0 erased and published; 1 nothing is held, there are backups and no [privacy] erasure_log,
    or the tables could not be published: then give it again; 2 invalid usage; 4 another run holds the lock.
    """
    from pipelines.backup.manifest import backups_holding
    from pipelines.notify import last_backup
    from pipelines.privacy import erase, forget_request
    from pipelines.report.outcomes import erased
    from pipelines.warehouse.release.postgres import copies_holding

    asked = _asked(order_id, phone=phone, email=email)
    if sys.stdin.isatty():
        typer.confirm("Destroy everything that is held about this customer? It cannot be undone", abort=True)
    backup = last_backup(settings.data_dir)
    with locked("ordermart vault erase") as progress:
        done = erase(settings, asked, user, has_backups=backup is not None, progress=progress)
        copies = copies_holding(settings.data_dir, done.entry.moment if done.entry else None)
        say(erased(done, backups_holding(settings.data_dir, done.entry), copies))
        if done.build_error:
            leave(is_open=False, has_failed=True)
        forget_request(settings.data_dir)


@app.command("reveal", short_help="Show the personal data of one order, for support.")
@prepared
def vault_reveal(
    kind: Annotated[str, typer.Argument(metavar="order", help="The word order.")],
    order_id: Annotated[int, typer.Argument(metavar="N", help="The order.")],
    *,
    reason: Annotated[str, typer.Option(help="Why it is needed; recorded in the ledger.")],
    user: User,
    settings: Settings,
) -> None:
    """Show the personal data of one order, for support; who saw it and why is recorded in the ledger.

    Exit codes: 0 shown; 1 nothing is held, it was erased, or the keys are wrong; 2 invalid usage.
    """
    from pipelines.privacy import reveal
    from pipelines.report.outcomes import as_json

    if kind != "order":
        raise usage_error("only `ordermart vault reveal order N` is possible")
    say([as_json(reveal(settings, order_id, given("--reason", reason), user))])


@app.command("fields", short_help="Show the names of undocumented fields of orders.")
@prepared
def vault_fields(
    *,
    reason: Annotated[str, typer.Option(help="Why it is needed; recorded in the ledger.")],
    user: User,
    settings: Settings,
) -> None:
    """Show the undocumented fields of orders by name, with how many orders and customers have each, as JSON.

    Tables show a name once orders of 20 customers have it, or [privacy] known_fields lists it: it may be a person's.
    Who saw them and why is recorded in the ledger. Exit codes: 0 shown; 1 the keys are wrong; 2 invalid usage.
    """
    from pipelines.privacy import undocumented
    from pipelines.report.outcomes import as_json

    say([as_json(undocumented(settings, given("--reason", reason), user))])


@app.command("export", short_help="Print what is held about a person, as JSON.")
@prepared
def vault_export(
    *,
    order_id: OrderId = None,
    phone: Phone = False,
    email: Email = False,
    user: User,
    settings: Settings,
) -> None:
    """Print what is held about a person as JSON, for an access request; the ledger records the export.

    Exit codes: 0 printed; 1 nothing is held; 2 invalid usage.
    """
    from pipelines.privacy import export
    from pipelines.report.outcomes import as_json

    say([as_json(export(settings, _asked(order_id, phone=phone, email=email), user))])


@app.command("rotate", short_help="Give the vault new keys.")
@prepared
def vault_rotate(
    *,
    new_key_file: Annotated[
        Path, typer.Option(metavar="FILE", help="File with the new keys; created with mode 600 if it does not exist.")
    ],
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Give the vault new keys: wrap every customer's key again and compute the lookup hashes again.

    The change is atomic: the old keys are valid until it ends, the new ones afterwards. If it is killed, run it again
    with the same FILE. Backups taken before need the old keys. Exit codes: 0 the vault has the new keys; 1 it has
    neither the keys of the settings nor those of FILE; 2 invalid usage; 4 another run holds the lock.
    """
    from pipelines.privacy import rotate_keys
    from pipelines.report.outcomes import rotated

    with locked("ordermart vault rotate") as progress:
        done = rotate_keys(settings, new_key_file, user, progress)
    say(rotated(done, new_key_file.resolve()))
