"""Mend what differs from the inventory and can be derived, set small files aside that cannot, and accept losses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from pipelines.backup.comparing import WORK_LIST, Compared, Damage, compare
from pipelines.inventory import accept, changing, forget_files, settle, write_noted
from pipelines.inventory.record import COPY, INVENTORY, is_noted, read_inventory, write_inventory
from pipelines.landing.data_folder import FORMATS, notes_of
from pipelines.landing.raw_files import Manifest, Merged, is_merged, loads_of, names, pair, write_manifest
from pipelines.ledger import LedgerError
from pipelines.ledger.signed_head import signing_ledger
from pipelines.notify import last_backup
from pipelines.privacy.log import LOG, erasure_log

if TYPE_CHECKING:
    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings

ACT = "loss_accepted"
_SET_ASIDE = ("raw/service/", "raw/erasures.json", "notify/", "warehouse/")


def mend(settings: Settings, *, seconds: float) -> Compared:
    """Compare the data folder with its inventory, and mend what can be; return what was found, mended or not.

    The caller holds the run lock. What was mended says so; a store or a raw file is never changed.
    """
    settle(settings.data_dir)
    found = compare(settings, seconds=seconds, notes_progress=True)
    found.damages = [_mended(settings, damage) for damage in found.damages]
    return found


def accept_losses(settings: Settings, reason: str, user: User) -> Compared:
    """Record present files as those that must be there, and why in the ledger; raise LedgerError if it is damaged."""
    found = compare(settings)
    for damage in found.damages:
        if damage.path.startswith("ledger/"):
            raise LedgerError(f"nothing was accepted: {damage.what}")
    accept(settings.data_dir)
    lost = [f"{damage.path}: {damage.what}" for damage in found.damages]
    signing_ledger(settings).append(ACT, {"reason": reason, "lost": lost, **user.body})
    return found


def _mended(settings: Settings, damage: Damage) -> Damage:
    """Mend one damage if it can be, and say how; return others as they are."""
    data_dir, name = settings.data_dir, damage.path
    if name in (INVENTORY, COPY) and not damage.stops:
        write_inventory(data_dir, read_inventory(data_dir))
        return _done(damage, "It was written again from the other copy")
    if name == WORK_LIST and not damage.parts:
        with changing(data_dir) as inventory:
            inventory.stores.pop(WORK_LIST, None)
        return _done(
            damage, "What raw knows to be unfinished is due again; give files of order ids again", is_mended=False
        )
    for content in _known(settings, name):
        if is_noted(data_dir, name, content):
            write_noted(data_dir, data_dir / name, content)
            return _done(damage, "It was written again: its content is known")
    if name.startswith("raw/merged-"):
        return _with_manifest(data_dir, damage)
    if name.startswith(_SET_ASIDE):
        path = data_dir / name
        is_there = path.exists()
        if is_there:
            path.replace(path.with_name(path.name + ".damaged"))
        forget_files(data_dir, [path])
        return _done(damage, f"It was set aside as {path.name}.damaged" if is_there else "A new one is begun")
    return damage


def _known(settings: Settings, name: str) -> list[bytes]:
    """Return what a file can hold, for those whose content follows from settings and code."""
    if name == "format.json":
        return [msgspec.json.encode(FORMATS)]
    if name == "raw/source.json":
        last = last_backup(settings.data_dir)
        log = erasure_log(settings) or (Path(last.path).parent / LOG if last else None)
        return notes_of(settings, log)
    return []


def _with_manifest(data_dir: Path, damage: Damage) -> Damage:
    """Make the list of merged files again, from what each of them says that it holds."""
    kind = damage.path.removeprefix("raw/merged-").removesuffix(".json")
    noted = read_inventory(data_dir).files
    merged = []
    try:
        for name in names(data_dir, "observations", kind):
            path = pair(data_dir, kind, name)[1]
            if is_merged(name) and str(path.relative_to(data_dir)) in noted:
                merged.append(Merged(name, tuple(sorted(loads_of(path)))))
    except (OSError, pa.ArrowException):
        return damage
    write_manifest(data_dir, kind, Manifest(tuple(merged)))
    return _done(damage, "It was made again from the files that it names")


def _done(damage: Damage, how: str, *, is_mended: bool = True) -> Damage:
    return replace(damage, fix=how, stops=False, is_mended=is_mended)
