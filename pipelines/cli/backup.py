"""The commands `ordermart backup` and `ordermart restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import As, Config, load_settings, say

app = typer.Typer()


@app.command(short_help="Back up what cannot be rebuilt.")
def backup(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder on another disk; each backup is a folder in it.")
    ],
    *,
    keep: Annotated[
        int, typer.Option(min=0, metavar="N", help="Afterwards remove the oldest backups beyond N; 0: keep all.")
    ] = 0,
    config: Config = None,
) -> None:
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
    from pipelines.report.progress import terminal_progress

    settings = load_settings(config)
    with terminal_progress() as progress:
        done = back_up(settings, folder, keep=keep, progress=progress)
    say(backup_lines(done))


@app.command(short_help="Restore a backup into an empty data folder.")
def restore(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder given to `ordermart backup`, for its last backup, or one backup."),
    ],
    *,
    check: Annotated[bool, typer.Option("--check", help="Only check the hash of every file; restore nothing.")] = False,
    no_erasures_since: Annotated[
        str, typer.Option(metavar="REASON", help="Restore without the erasure log: nobody was erased since the backup.")
    ] = "",
    name: As = "",
    config: Config = None,
) -> None:
    """Restore a backup into an empty data folder, rebuild the warehouse, publish, and compare with the old release.

    Set [data] dir to an empty or new folder, and the vault's keys as they were. Every file is checked against the
    manifest, and erasures of the erasure log are applied, before any is moved into place. Requests that were in flight
    when the backup began are due again on the work list. If it is killed, give it again.

    Exit codes: 0 restored, every compared row is the same; 1 nothing was restored: the data folder is not empty, the
    erasure log does not reach beyond the backup, or a file of that is damaged and named; or every file was, and
    `ordermart build` remains to be run; 2 invalid settings, or data of another service; 3 restored, but tables differ
    from the release of that time: they are named; 4 another run holds the lock.
    """
    from pipelines.backup import check_backup
    from pipelines.backup import restore as restore_backup
    from pipelines.ingest.lock import RESTORE, run_lock
    from pipelines.ledger.decisions import current_user
    from pipelines.privacy.restored import NoErasures
    from pipelines.report.outcomes import restore_lines
    from pipelines.report.progress import terminal_progress

    if check:
        backup, manifest = check_backup(folder)
        typer.echo(f"{backup}: {len(manifest.files):,} files, each as it was backed up.")
        return
    settings = load_settings(config)
    word = NoErasures(no_erasures_since.strip(), current_user(name)) if no_erasures_since.strip() else None
    with run_lock(settings.data_dir, RESTORE), terminal_progress() as progress:
        done = restore_backup(settings, folder, progress, word=word)
    say(restore_lines(done))
    raise typer.Exit(3 if done.comparison.different else 0)
