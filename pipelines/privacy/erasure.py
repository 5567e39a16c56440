"""Erase a person: an entry in the ledger first, then vault and raw files, then tables and older releases.

Whatever is killed when, the next run goes on with it: an erasure that is in the ledger is applied until raw/ notes it.
The entry names customers by a hash of their random key. Knows nothing of commands or backups.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from pipelines.finance.released import FinanceError
from pipelines.finance.restating import build_and_record
from pipelines.landing import LandingError
from pipelines.landing.erased import erase_in_raw
from pipelines.landing.erasures import applied_erasures, note_erasure
from pipelines.landing.formats import migrate
from pipelines.ledger import LedgerError, ledger_of
from pipelines.ledger.privacy import ERASED, erasures
from pipelines.ledger.signed_head import sign_missing_heads, signing_ledger
from pipelines.ledger.users import current_user
from pipelines.privacy.finding import PrivacyError, customers
from pipelines.privacy.log import add_to_log, erasure_log
from pipelines.vault import Destroyed, open_vault
from pipelines.warehouse import BuildBlocked, publish, warehouse_file
from pipelines.warehouse.inputs.landed import MissingDocumentError
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import DATABASE, current_release
from pipelines.warehouse.release.removal import remove_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.ledger.users import User
    from pipelines.privacy.finding import Asked
    from pipelines.settings import Settings

_NOTHING = Destroyed(0, 0, 0)


@dataclass
class Erasure:
    """What erasures did: the last one's entry, what was destroyed, and where copies were removed or remain."""

    entry: Entry | None = None
    destroyed: Destroyed = _NOTHING
    rewritten: int = 0
    removed_releases: list[Path] = field(default_factory=list)
    kept_releases: list[Path] = field(default_factory=list)
    build_error: str = ""


def erase(
    settings: Settings,
    asked: Asked,
    user: User | None = None,
    *,
    has_backups: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Erasure:
    """Erase the customers that a request finds, rebuild the tables, publish, and remove older releases.

    The caller holds the run lock. Raise PrivacyError if nothing is held of them, or if there are backups and no
    erasure log: whoever restores one would undo the erasure.
    """
    log = erasure_log(settings)
    if log is None and has_backups:
        raise PrivacyError(
            "there are backups, which would bring the data back when restored: set [privacy] erasure_log to a file "
            "outside the data folder, then erase again; nothing was erased"
        )
    migrate(settings.data_dir)
    sign_missing_heads(settings)
    done = apply_erasures(settings)
    try:
        with open_vault(settings) as vault:
            found = customers(vault, asked)
    except PrivacyError:
        if done.entry is None or not _may_be_of(done.entry, asked):
            raise
        # else this one was killed before, and has just been finished
    else:
        body = {
            "found_by": asked.found_by,
            "customer_sha256": sorted(each.key_sha256 for each in found),
            "order_ids": sorted({order_id for each in found for order_id in each.order_ids}),
            **(user or current_user()).body,
        }
        signing_ledger(settings).append(ERASED, body)
        done = apply_erasures(settings)
    try:
        if warehouse_file(settings.data_dir).exists():
            build_and_record(settings, progress=progress)
            publish(settings)
    except (BuildBlocked, LandingError, LedgerError, FinanceError, MissingDocumentError) as error:
        done.build_error = str(error)
    remove_old_releases(settings, done)
    return done


def _may_be_of(entry: Entry, asked: Asked) -> bool:
    """Tell whether an erasure can be the one that a request is about; the entry has no phone number or address."""
    is_order = asked.found_by == "order_id"
    return entry.body["found_by"] == asked.found_by and (not is_order or int(asked.value) in entry.body["order_ids"])


def apply_erasures(settings: Settings) -> Erasure:
    """Apply every erasure of the ledger that this data folder did not go through yet, and log it.

    Raise VaultError without the vault's keys, PrivacyError if the erasure log cannot be read.
    """
    done = Erasure()
    applied = set(applied_erasures(settings.data_dir))
    pending = [entry for entry in erasures(ledger_of(settings.data_dir)) if entry.sha256 not in applied]
    if not pending:
        return done
    if log := erasure_log(settings):
        add_to_log(log, pending)
    with open_vault(settings) as vault:
        for entry in pending:
            hashes, order_ids = entry.body["customer_sha256"], entry.body["order_ids"]
            part = vault.erasing.erase(hashes, order_ids)
            done.destroyed = Destroyed(*(a + b for a, b in zip(done.destroyed, part, strict=True)))
            done.rewritten += erase_in_raw(settings.data_dir, order_ids, hashes)
            note_erasure(settings.data_dir, entry.sha256)
            done.entry = entry
    return done


def remove_old_releases(settings: Settings, done: Erasure | None = None) -> Erasure:
    """Remove releases from before an erasure that have its orders, or only name them if settings keep them.

    A warehouse file that was set aside as damaged goes, too. The current release is never removed.
    """
    done = done or Erasure()
    entries = erasures(ledger_of(settings.data_dir))
    if not entries:
        return done
    for damaged in warehouse_file(settings.data_dir).parent.glob("*.damaged-*"):
        damaged.unlink()
    published = settings.data_dir / "published"
    current = current_release(published)
    for release in sorted((published / "releases").glob("[!.]*")):
        if not _has_any(release, _erased_since(release, entries)):
            continue
        if settings.privacy.remove_releases and release.resolve() != current:
            remove_release(release)
            done.removed_releases.append(release)
        else:
            done.kept_releases.append(release)
    return done


def _erased_since(release: Path, entries: Iterable[Entry]) -> list[int]:
    """Return the orders that were erased after a release was made."""
    manifest = read_manifest(release)
    made = dt.datetime.fromisoformat(manifest.as_of or manifest.published_at) if manifest else None
    return [order_id for each in entries if made is None or each.moment > made for order_id in each.body["order_ids"]]


def _has_any(release: Path, order_ids: list[int]) -> bool:
    if not order_ids:
        return False
    try:
        with duckdb.connect(str(release / DATABASE), read_only=True) as con:
            query = "select 1 from core.orders where list_contains(?::bigint[], order_id) limit 1"
            return con.execute(query, [order_ids]).fetchone() is not None
    except duckdb.Error:
        return True  # whatever it has cannot be looked at
