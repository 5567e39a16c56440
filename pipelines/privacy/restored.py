"""Apply erasures to a restored data folder that is older than they are.

They come from the erasure log and from the ledgers of other backups of that folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.ledger import Ledger, LedgerError
from pipelines.ledger.decisions import ERASED, NO_ERASURES, current_user, erasures, origin
from pipelines.ledger.signed_head import signing_ledger
from pipelines.privacy.erasure import apply_erasures
from pipelines.privacy.finding import PrivacyError
from pipelines.privacy.log import ErasureLog, erasure_log, read_log
from pipelines.vault.keys import read_keys

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings


class NoErasures(NamedTuple):
    """Somebody's word that nobody was erased since a backup: the reason, and who says so."""

    reason: str
    user: User | None = None


def known_erasures(
    settings: Settings, backup: Path, ledgers: Iterable[Path], word: NoErasures | None
) -> dict[str, dict[str, Any]]:
    """Return every erasure that is known of: hash of its first entry → body.

    `ledgers` are those of backups. Raise PrivacyError unless the erasure log reaches beyond the backup, or somebody
    gives their word; VaultError if there were erasures and the vault's keys are not set: nothing may be restored then.
    """
    log = erasure_log(settings, backup)
    found = read_log(log) if log and (log.exists() or word is None) else ErasureLog({}, set())
    if backup.name not in found.backups and word is None:
        why = f"{log} does not name {backup.name}, so it may be older" if log else "no erasure log is known"
        raise PrivacyError(
            f"erasures after this backup cannot be applied: {why}. Set [privacy] erasure_log to the present log, or "
            "give --no-erasures-since REASON if nobody was erased since; nothing was restored"
        )
    of_backups = {origin(entry): entry.body for each in ledgers for entry in _readable_erasures(each)}
    known = of_backups | found.erasures
    if known:
        read_keys(settings)
    return known


def _readable_erasures(ledger: Path) -> list[Entry]:
    """Return the erasures of a backup's ledger; none if it is damaged, which a restore of that backup names."""
    try:
        return erasures(Ledger(ledger))
    except LedgerError:
        return []


def apply_to_restored(
    settings: Settings, known: dict[str, dict[str, Any]], backup: str, word: NoErasures | None
) -> int:
    """Apply erasures that the restored folder lacks, each as a new entry of its ledger; return how many.

    A word that nobody was erased since is an entry, too.
    """
    ledger = signing_ledger(settings, is_restored=True)
    if word:
        body = {"backup": backup, "reason": word.reason, **(word.user or current_user()).body}
        ledger.append(NO_ERASURES, body)
    here = {origin(entry) for entry in erasures(ledger)}
    missing = {sha256: body for sha256, body in known.items() if sha256 not in here}
    for sha256, body in missing.items():
        ledger.append(ERASED, {**body, "copied_from": sha256})
    if known:
        apply_erasures(settings, is_logged=True)
    return len(missing)
