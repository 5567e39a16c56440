"""Rotate the vault's keys, and record in the ledger that it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.ledger.decisions import ROTATED, current_user
from pipelines.ledger.signed_head import sign_missing_heads, signing_ledger
from pipelines.privacy.finding import PrivacyError
from pipelines.settings.tables import Secret
from pipelines.vault.keys import new_keys, read_keys
from pipelines.vault.rotation import rotate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings
    from pipelines.vault.rotation import Rotated


def rotate_keys(
    settings: Settings,
    file: Path,
    user: User | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Rotated:
    """Give the vault the keys of a file, created if necessary; doing it again changes nothing.

    The caller holds the run lock. Raise PrivacyError if there is no vault yet, VaultError for unusable keys.
    """
    path = settings.data_dir / "vault" / "vault.sqlite"
    if not path.exists():
        raise PrivacyError("there is no vault yet: `ordermart vault generate-keys FILE` makes the keys of a new one")
    done = rotate(path, read_keys(settings), new_keys(file), progress)
    # Only the new keys open the vault, which keeps the key that signs.
    vault = msgspec.structs.replace(
        settings.vault, key_file=str(file.resolve()), master_key=Secret(""), lookup_secret=Secret("")
    )
    rotated = msgspec.structs.replace(settings, vault=vault)
    sign_missing_heads(rotated)
    ledger = signing_ledger(rotated)
    if done.at and not any(entry.body["rotated_at"] == done.at for entry in ledger.entries(ROTATED)):
        body = {"rotated_at": done.at, "customer_count": done.customers, "version_count": done.versions}
        ledger.append(ROTATED, body | (user or current_user()).body)
    return done
