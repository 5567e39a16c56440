"""The commands about kept data: backup, restore, inventory, verify, diff, copy; and the vault's."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from pipelines.cli.options import As, Commands, Config, Locked, given, group, leave, load_settings, say, usage_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.ledger.entries import User
    from pipelines.privacy import Facts, PersonRequest
    from pipelines.settings import Settings

app = Commands()
vault = group(app, "vault", "Manage the encrypted personal-data vault.")

# Arguments and options of the commands below.
BackupFolder = Annotated[Path, Argument(metavar="DIR", help="Folder on another disk; each backup is a folder in it.")]
Keep = Annotated[int, Option(min=0, metavar="N", help="Afterwards remove the oldest backups beyond N; 0: keep all.")]
RestoreFolder = Annotated[
    Path, Argument(metavar="DIR", help="Folder given to `ordermart backup`, for its last backup, or one backup.")
]
Check = Annotated[bool, Option("--check", help="Only check the hash of every file; restore nothing.")]
NoErasuresSince = Annotated[
    str, Option(metavar="REASON", help="Restore without the erasure log: nobody was erased since the backup.")
]
Unsigned = Annotated[
    str, Option(metavar="REASON", help="Restore without a valid signature: nobody changed the backup.")
]
Accept = Annotated[
    str, Option(metavar="REASON", help="Record what is there now: what is lost is given up. Not the ledger.")
]
Days = Annotated[int | None, Option(min=1, help="Verify the last N business days.", metavar="N")]
Share = Annotated[
    str, Option(help="Verify the next part of all orders and days, after the last one verified.", metavar="1/64")
]
Everything = Annotated[bool, Option("--all", help="Verify every table, by a full rebuild.")]
Copied = Annotated[str, Option("--copy", metavar="URL", help="Read every object of a copy in object storage instead.")]
Before = Annotated[str, Argument(metavar="[A]", help="The earlier release's id, or its beginning.")]
After = Annotated[str, Argument(metavar="[B]", help="The later release's id, or its beginning.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]
To = Annotated[str, Option(metavar="URL", help="Such as postgresql://USER@HOST/DATABASE or s3://BUCKET/PREFIX.")]
Kind = Annotated[str, Argument(metavar="order", help="The word order.")]
RevealedOrder = Annotated[int, Argument(metavar="N", help="The order.")]
Reason = Annotated[str, Option(help="Why it is needed; recorded in the ledger.")]
NewKeyFile = Annotated[
    Path, Option(metavar="FILE", help="File with the new keys; created with mode 600 if it does not exist.")
]


@app.command(short_help="Back up what cannot be rebuilt.")
def backup(folder: BackupFolder, *, keep: Keep = 0, settings: Settings) -> None:
    """Back up what cannot be rebuilt: raw, vault, inbox, ledger and the log of verifications.

    Runs and the webhook receiver may go on meanwhile. Files that the last backup in DIR has are linked, not copied, so
    each backup is complete in itself and can be removed alone. The vault's keys and the settings file are not in it:
    keep copies of them elsewhere, as personal data cannot be recovered without the keys. A restore needs the erasure
    log, [privacy] erasure_log, which is erasures.jsonl in DIR unless set: keep a copy apart from the data, too.

    Exit codes: 0 backed up; 1 nothing was backed up, for example because a file is damaged: it is named; 2 invalid
    settings, or DIR and the data folder contain each other.
    """
    from pipelines.backup import back_up
    from pipelines.report.outcomes import backup_lines
    from pipelines.report.text import terminal_progress

    with terminal_progress() as progress:
        done = back_up(settings, folder, keep=keep, progress=progress)
    say(backup_lines(done))


@app.command(short_help="Restore a backup into an empty data folder.")
def restore(
    folder: RestoreFolder,
    *,
    check: Check = False,
    no_erasures_since: NoErasuresSince = "",
    unsigned: Unsigned = "",
    name: As = "",
    config: Config = None,
) -> None:
    """Restore a backup into an empty data folder, rebuild the warehouse, publish, and compare with the old release.

    Set [data] dir to an empty or new folder, and the vault's keys as they were. Every file is checked against the
    manifest, that against its signature, and erasures of the erasure log are applied, before any is moved into place.
    A backup of an older version has no signature: give --unsigned REASON. Requests that were in flight when the backup
    began are due again on the work list. If it is killed, give it again.

    Exit codes: 0 restored, every compared row is the same; 1 nothing was restored: the data folder is not empty, the
    erasure log does not reach beyond the backup, its signature is not valid, or a file of it is damaged and named; or
    every file was, and
    `ordermart build` remains to be run; 2 invalid settings, or data of another service; 3 restored, but tables differ
    from the release of that time and are named, or could not be compared, or the vault does not open; 4 another run
    holds the lock.
    """
    from pipelines.backup import check_backup
    from pipelines.backup import restore as restore_backup
    from pipelines.ingest.lock import RESTORE, run_lock
    from pipelines.ledger.entries import current_user
    from pipelines.privacy import NoErasures
    from pipelines.report.outcomes import restore_lines
    from pipelines.report.text import terminal_progress

    if check:
        backup, manifest = check_backup(folder)
        typer.echo(f"{backup}: {len(manifest.files):,} files, each as it was backed up.")
        return
    settings = load_settings(config)
    given = (no_erasures_since.strip(), unsigned.strip())
    word, trusted = (NoErasures(each, current_user(name)) if each else None for each in given)
    with run_lock(settings.data_dir, RESTORE), terminal_progress() as progress:
        done = restore_backup(settings, folder, progress, word=word, unsigned=trusted)
    say(restore_lines(done))
    leave(is_open=not done.assess().is_good)


@app.command(short_help="Compare what cannot be rebuilt with its record.")
def inventory(*, accept: Accept = "", user: User, settings: Settings, locked: Locked) -> None:
    """Read every file that cannot be rebuilt and compare it with the inventory; name missing or damaged files.

    Exit codes: 0 everything is as recorded, or was accepted; 1 the ledger is damaged, or a file cannot be read, and
    nothing is accepted; 2 invalid usage; 3 files are damaged or unreadable: they are named, with what to do; 4 another
    run holds the lock.
    """
    from pipelines.backup.comparing import accept_losses, compare

    if accept:
        with locked("ordermart inventory"):
            found = accept_losses(settings, given("--accept", accept), user)
        say([*(damage.sentence() for damage in found.damages), "Accepted: the inventory is of what is there now."])
        return
    found = compare(settings)
    say([*(damage.sentence() for damage in found.damages), f"{found.sentence()}."])
    leave(is_open=not found.assess().is_good)


@app.command(short_help="Rebuild a sample and compare it with the warehouse.")
def verify(
    *,
    days: Days = None,
    fraction: Share = "1/64",
    everything: Everything = False,
    copied: Copied = "",
    settings: Settings,
    locked: Locked,
) -> None:
    """Rebuild a sample from the landing zone and compare it with the warehouse and the current release.

    Exit codes: 0 every row is the same; 1 nothing could be verified; 2 invalid settings or usage; 3 rows differ, and
    the first table, key and column are named, or the release could not be compared, or an object of the copy is
    missing or changed; 4 another run holds the lock.
    """
    from pipelines.report.outcomes import verification_lines
    from pipelines.warehouse.release.object_storage import check_copy
    from pipelines.warehouse.verify import VerifyError, verify_all, verify_days, verify_next

    if copied:
        checked = check_copy(copied)
        count = f"{checked.checked:,} objects of release {checked.release_id} in {copied}"
        say([*checked.faults, f"{count}: {len(checked.faults) or 'none'} missing or changed."])
        leave(is_open=not checked.assess().is_good)
        return
    share = _fraction(fraction)
    with locked("ordermart verify") as progress:
        if everything:
            found = verify_all(settings, progress)
        elif days:
            found = verify_days(settings, days)
        else:
            found = verify_next(settings, share)
    if not found.tables:
        raise VerifyError("nothing could be verified: no document of these days has landed; run `ordermart run`")
    say(verification_lines(found))
    leave(is_open=not found.assess().is_good)


def _fraction(text: str) -> Fraction:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise usage_error(f"--fraction: {text!r} is not a fraction above 0 and up to 1; use 1/64, for example")
    return share


@app.command(short_help="Compare two releases: rows and amounts that differ.")
def diff(before: Before = "", after: After = "", *, as_json: AsJson = False, settings: Settings) -> None:
    """Compare two releases: rows and amounts of core and mart that differ, by table, store and month.

    By default the last release with the one before it, as the release's own meta.changes does. Exit codes: 0 compared;
    1 a release does not exist; 2 invalid settings or usage.
    """
    from pipelines.report.outcomes import diff_json, diff_lines
    from pipelines.warehouse.release.release_diff import diff as compared

    found = compared(settings, before, after)
    say([diff_json(found)] if as_json else diff_lines(found))


@app.command(short_help="Copy the current release to PostgreSQL or object storage.")
def copy(*, to: To, locked: Locked, settings: Settings) -> None:
    """Copy the current release to a PostgreSQL database, or to object storage: s3://, gs://, az:// or file://.

    PostgreSQL gets core, mart and own with comments, in one transaction; only tables and months that differ are
    written. Rights of roles stay. The password comes from PGPASSWORD, or the file that PGPASSFILE names. Needs psycopg:
    pip install 'ordermart[postgres]'.

    Object storage gets every table as Parquet and ordermart.duckdb; only objects that are not there are uploaded, and
    current.json is written last. Credentials come from the environment (AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT,
    AZURE_STORAGE_ACCOUNT_NAME and their like) or the machine's role. Needs obstore: pip install 'ordermart[storage]'.

    Whatever is interrupted, readers have the old release. Exit codes: 0 copied; 1 nothing was copied; 2 invalid
    settings or usage; 4 another run holds the lock.
    """
    from pipelines.warehouse.release.copies import copy_release

    with locked("ordermart copy") as progress:
        done = copy_release(settings, to, progress)
    say([done.sentence()])


OrderId = Annotated[int | None, Option("--order-id", metavar="N", help="This order alone.")]
Phone = Annotated[bool, Option("--phone", help="Ask for a phone number, or read it from standard input.")]
Orders = Annotated[
    int | None, Option("--orders", metavar="N", help="They are one person's N orders, of several names or numbers.")
]
Email = Annotated[bool, Option("--email", help="Ask for an e-mail address, or read it from standard input.")]


def _asked(order_id: int | None, *, phone: bool, email: bool) -> PersonRequest:
    """Return what a person is found by; a phone number or an e-mail address is never an argument."""
    from pipelines.privacy import PersonRequest

    if (order_id is not None) + phone + email != 1:
        raise usage_error("give one of --order-id N, --phone and --email")
    if order_id is not None:
        return PersonRequest("order_id", str(order_id))
    what = "Phone number" if phone else "E-mail address"
    value = typer.prompt(what, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not value.strip():
        raise usage_error(f"no {what.lower()} was given on standard input")
    return PersonRequest("phone" if phone else "email", value.strip())


def _confirmed(orders: int | None, question: str) -> Callable[[Facts], None]:
    """Return what shows an operator what was found, and asks whether it is one person's, or --orders has said so."""
    from pipelines.report.outcomes import found_facts

    def confirm(facts: Facts) -> None:
        for line in found_facts(facts):
            typer.echo(line, err=True)
        given_orders = orders
        if sys.stdin.isatty() and orders is None and facts.may_be_several:
            given_orders = typer.prompt("Orders, if all are one person's", type=int, err=True)
        facts.confirm(given_orders)
        if question and sys.stdin.isatty():
            typer.confirm(question, abort=True, err=True)

    return confirm


@vault.command("generate-keys", short_help="Generate the two secrets of a vault.")
def vault_generate_keys(
    file: Annotated[Path, Argument(help="New file, created with mode 600. Keep a copy elsewhere.")],
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


@vault.command("erase", short_help="Erase a person, or one order's personal data.")
def vault_erase(
    *,
    order_id: OrderId = None,
    phone: Phone = False,
    email: Email = False,
    orders: Orders = None,
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Erase a person, by a contact, or one order: destroy every encrypted version and lookup hash, rebuild and publish.

    A person's orders are those of which a version states the contact; quarantined bodies that name it go, too. What was
    found is shown first; several numbers or names are confirmed, without a terminal by --orders N. The ledger records
    the erasure without personal data. Amounts and other customers stay as they are. Personal data of an erased order is
    never stored again. It cannot be undone. If it is killed, the same command or the next run finishes it. Exit codes:
    0 erased and published; 1 nothing is held, it may be several people's, there are backups and no [privacy]
    erasure_log, or the tables could not be published: then give it again; 2 invalid usage; 4 another run holds the
    lock.
    """
    from pipelines.backup.comparing import backups_holding
    from pipelines.notify import last_backup
    from pipelines.privacy import erase, forget_request
    from pipelines.report.outcomes import erased
    from pipelines.warehouse.release.copies import copies_holding

    asked = _asked(order_id, phone=phone, email=email)
    backup = last_backup(settings.data_dir)
    with locked("ordermart vault erase") as progress:
        confirm = _confirmed(orders, "Destroy this? It cannot be undone")
        done = erase(settings, asked, user, has_backups=backup is not None, progress=progress, confirm=confirm)
        copies = copies_holding(settings.data_dir, done.entry.moment if done.entry else None)
        say(erased(done, backups_holding(settings.data_dir, done.entry), copies))
        if done.build_error:
            leave(is_open=False, has_failed=True)
        forget_request(settings.data_dir)


@vault.command("reveal", short_help="Show the personal data of one order, for support.")
def vault_reveal(kind: Kind, order_id: RevealedOrder, *, reason: Reason, user: User, settings: Settings) -> None:
    """Show the personal data of one order, for support; who saw it and why is recorded in the ledger.

    Exit codes: 0 shown; 1 nothing is held, it was erased, or the keys are wrong; 2 invalid usage.
    """
    from pipelines.privacy import reveal
    from pipelines.report.outcomes import as_json

    if kind != "order":
        raise usage_error("only `ordermart vault reveal order N` is possible")
    say([as_json(reveal(settings, order_id, given("--reason", reason), user))])


@vault.command("fields", short_help="Show the names of undocumented fields of orders.")
def vault_fields(*, reason: Reason, user: User, settings: Settings) -> None:
    """Show the undocumented fields of orders by name, with how many orders and customers have each, as JSON.

    Tables show a name once orders of 20 customers have it, or [privacy] known_fields lists it: it may be a person's.
    Who saw them and why is recorded in the ledger. Exit codes: 0 shown; 1 the keys are wrong; 2 invalid usage.
    """
    from pipelines.privacy import undocumented
    from pipelines.report.outcomes import as_json

    say([as_json(undocumented(settings, given("--reason", reason), user))])


@vault.command("export", short_help="Print all data held of a person, as JSON.")
def vault_export(
    *,
    order_id: OrderId = None,
    phone: Phone = False,
    email: Email = False,
    orders: Orders = None,
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Print all data held of a person as JSON, for an access request; the ledger records the export.

    What was found is counted first; several numbers or names are confirmed, without a terminal by --orders N. Exit
    codes: 0 printed; 1 nothing is held, or it may be several people's; 2 invalid usage; 4 another run holds the lock.
    """
    from pipelines.privacy import export
    from pipelines.report.outcomes import as_json

    asked = _asked(order_id, phone=phone, email=email)
    with locked("ordermart vault export"):
        say([as_json(export(settings, asked, user, confirm=_confirmed(orders, "")))])


@vault.command("rotate", short_help="Give the vault new keys.")
def vault_rotate(*, new_key_file: NewKeyFile, user: User, settings: Settings, locked: Locked) -> None:
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
