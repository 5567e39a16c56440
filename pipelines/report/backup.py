"""Say what a backup holds, and how a restored folder compares with the release of that time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.backup import BackedUp, Restored

_MB = 10**6


def backup_lines(done: BackedUp) -> Iterator[str]:
    """Yield what was backed up, and what was not."""
    copied = f"{done.copied:,} of them copied ({done.bytes / _MB:,.1f} MB), the rest linked"
    yield f"{done.path}: {done.files:,} files, {copied}"
    if done.removed:
        yield f"{done.removed} older backups were removed, as --keep says."
    yield "Not in it: the vault's keys, without which personal data are lost, and the settings. Keep copies elsewhere."


def restore_lines(done: Restored) -> Iterator[str]:
    """Yield what was restored, what differs first."""
    found = done.comparison
    for sentence in found.different:
        yield f"DIFFERENT  {sentence}"
    yield from done.notes
    yield f"Restored from {done.backup}, taken at {done.manifest.taken_at}; published {done.release.path}"
    of = done.manifest.release.id if done.manifest.release else ""
    if found.why_not:
        yield f"Not compared with the release of that time: {found.why_not}."
    elif found.different:
        yield f"{len(found.different)} of {found.tables} tables differ from release {of}: report it, keep the backup."
    else:
        yield f"{found.tables} tables compared with release {of}: every row is the same."
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed after it: {', '.join(found.left_out)}"
