"""Apply erasures to a restored data folder that is older than they are.

They come from the erasure log and from the ledgers of other backups of that folder. Knows nothing of how files are
restored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.ledger import Ledger, LedgerError
from pipelines.ledger.privacy import ERASED, erasures, origin
from pipelines.ledger.signed_head import signing_ledger
from pipelines.privacy.erasure import apply_erasures
from pipelines.privacy.finding import PrivacyError
from pipelines.privacy.log import erasure_log, read_log
from pipelines.vault.keys import read_keys

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.settings import Settings

    Known = dict[str, dict[str, Any]]


def known_erasures(settings: Settings, ledgers: Iterable[Path]) -> Known:
    """Return every erasure that is known of: hash of its first entry → body.

    `ledgers` are those of backups. Raise PrivacyError if the log cannot be read, or is not set although there were
    erasures, VaultError if there were any and the vault's keys are not set: nothing may be restored then.
    """
    log = erasure_log(settings)
    found = {line["sha256"]: line["body"] for line in read_log(log)} if log else {}
    of_backups = {origin(entry): entry.body for each in ledgers for entry in _readable_erasures(each)}
    if of_backups and log is None:
        raise PrivacyError(
            "personal data were erased from this data folder: set [privacy] erasure_log to the file with the later "
            "erasures, so that they are applied; nothing was restored"
        )
    if found or of_backups:
        read_keys(settings)
    return of_backups | found


def _readable_erasures(ledger: Path) -> list[Entry]:
    """Return the erasures of a backup's ledger; none if it is damaged, which a restore of that backup names."""
    try:
        return erasures(Ledger(ledger))
    except LedgerError:
        return []


def apply_to_restored(settings: Settings, known: Known) -> int:
    """Apply erasures that the restored folder lacks, each as a new entry of its ledger; return how many."""
    ledger = signing_ledger(settings)
    here = {origin(entry) for entry in erasures(ledger)}
    missing = {sha256: body for sha256, body in known.items() if sha256 not in here}
    for sha256, body in missing.items():
        ledger.append(ERASED, {**body, "copied_from": sha256})
    apply_erasures(settings)
    return len(missing)
