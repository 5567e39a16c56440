"""The inventory: one record of data that cannot be rebuilt, kept apart from it, so that a missing file is noticed.

It has the size and hash of each file, how far each SQLite store had come, with counts and digests of its rows, and the
ledger's length and last hash. Of its two copies either suffices. A small file is written under its temporary name,
noted, and renamed: after a kill in between, `settle` renames it.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import fcntl
import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from pipelines.durable import file_hash, fresh, make_folder, put_in_place, sync, unfinished, write_whole
from pipelines.tracked import STORES, TrackedStore, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

INVENTORY, COPY = "inventory.json", "inventory-copy.json"
FORMAT = "inventory"  # its name in format.json
# Files that are read as a whole and cannot be rebuilt; the ledger's lines and the SQLite stores are noted otherwise.
PATTERNS = (
    "format.json",
    "raw/source.json",
    "raw/erasures.json",
    "raw/merged-*.json",
    "raw/service/*.json",
    "raw/documents/*/*.parquet",
    "raw/observations/*/*.parquet",
    "ledger/*.parquet",
    "notify/*.json",
    "warehouse/verifications.jsonl",
)
_HASH = 64


class InventoryError(Exception):
    """The inventory cannot be read; the message says where it can be taken from."""


class LedgerHead(msgspec.Struct, frozen=True):
    """The ledger's length and last hash; `signature` is of both by the vault's key, in base64, "" without the key."""

    entries: int
    sha256: str
    signature: str = ""
    key: str = ""


class Inventory(msgspec.Struct):
    """What must be there. `read_until` is where the last night stopped reading; a round reads everything once."""

    no: int = 0
    files: dict[str, tuple[int, str]] = {}
    stores: dict[str, TrackedStore] = {}
    ledger: LedgerHead | None = None
    read_until: str = ""
    round_began_at: dt.datetime | None = None
    round_ended_at: dt.datetime | None = None


def read_inventory(data_dir: Path) -> Inventory:
    """Return the newer of both copies, an empty inventory for a new folder; raise InventoryError if it is lost."""
    found = [each for name in (INVENTORY, COPY) if (each := read_copy(data_dir / name))]
    if found:
        return max(found, key=lambda each: each.no)
    if is_expected(data_dir):
        raise InventoryError(
            f"{data_dir / INVENTORY} and its copy are missing or damaged: copy {INVENTORY} from the last backup; "
            'without one, `ordermart inventory --accept "REASON"` records what is there now'
        )
    return Inventory()


def read_copy(path: Path) -> Inventory | None:
    """Return the inventory of one file; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[_HASH:]).hexdigest().encode() == content[:_HASH]:
            return msgspec.json.decode(content[_HASH:], type=Inventory)
    except PermissionError:
        raise  # it may be as it was written
    except (OSError, msgspec.DecodeError):
        pass
    return None


def is_expected(data_dir: Path) -> bool:
    """Tell whether there ever was an inventory."""
    try:
        return FORMAT in (data_dir / "format.json").read_text("utf-8", "replace")
    except OSError:
        return any((data_dir / name).exists() for name in (INVENTORY, COPY))


@contextmanager
def changing(data_dir: Path) -> Iterator[Inventory]:
    """Give the inventory to a block that may change it, while others wait, and write what it changed."""
    with _locked(data_dir):
        found = read_inventory(data_dir)
        before = msgspec.json.encode(found)
        yield found
        if msgspec.json.encode(found) != before:
            write_inventory(data_dir, found)


def write_inventory(data_dir: Path, inventory: Inventory) -> None:
    """Write both copies, as the next version."""
    inventory.no += 1
    for name in (INVENTORY, COPY):
        write_copy(data_dir / name, inventory)


def write_copy(path: Path, inventory: Inventory) -> None:
    """Write an inventory into a file, its own hash in front."""
    content = msgspec.json.encode(inventory)
    write_whole(path, hashlib.sha256(content).hexdigest().encode() + content)


def write_noted(data_dir: Path, path: Path, content: bytes) -> None:
    """Write a small file of a data folder, durably, whole or not at all, and note it."""
    make_folder(path.parent, 0o700)
    with _locked(data_dir):
        inventory = read_inventory(data_dir)
        try:
            with fresh(unfinished(path)) as file:
                file.write(content)
            sync(unfinished(path))
            sync(path.parent)
            inventory.files[_name(data_dir, path)] = len(content), hashlib.sha256(content).hexdigest()
            write_inventory(data_dir, inventory)
        except BaseException:
            unfinished(path).unlink(missing_ok=True)
            raise
        put_in_place(path)


def note_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Note files that count from now on, by what they are now."""
    with changing(data_dir) as inventory:
        inventory.files |= {_name(data_dir, path): measured(path) for path in paths}


def forget_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Forget files that are about to be removed."""
    names = {_name(data_dir, path) for path in paths}
    with changing(data_dir) as inventory:
        for name in names & inventory.files.keys():
            del inventory.files[name]


def adopt_files(data_dir: Path) -> None:
    """Note every file that nobody noted, by what it is now."""
    with changing(data_dir) as inventory:
        for path in (each for pattern in PATTERNS for each in sorted(data_dir.glob(pattern))):
            if (name := _name(data_dir, path)) not in inventory.files:
                inventory.files[name] = measured(path)


def accept_files(data_dir: Path) -> None:
    """Note every file again, by what it is now, and forget how far the stores had come; the ledger's head stays."""
    with _locked(data_dir):
        try:
            before = read_inventory(data_dir)
        except InventoryError:
            before = Inventory()
        paths = (each for pattern in PATTERNS for each in sorted(data_dir.glob(pattern)))
        files = {_name(data_dir, path): measured(path) for path in paths}
        write_inventory(data_dir, Inventory(before.no, files, ledger=before.ledger))


def settle(data_dir: Path) -> None:
    """Finish what a kill left between the note of a small file and its rename."""
    for name, noted in read_inventory(data_dir).files.items():
        path = data_dir / name
        if is_unsettled(path, noted):
            put_in_place(path)


def is_unsettled(path: Path, noted: tuple[int, str]) -> bool:
    """Tell whether the noted content of a file still has its temporary name."""
    draft = unfinished(path)
    return os.access(draft, os.R_OK, effective_ids=True) and measured(draft) == noted


def fault(path: Path, noted: tuple[int, str], *, reads: bool = False) -> str:
    """Return how a file differs from its note; "" if it does not, or its new content waits to be renamed.

    The content is compared of small files, and if it `reads` also of others.
    """
    if is_unsettled(path, noted):
        return ""
    try:
        size = path.stat().st_size
        if size != noted[0]:
            return f"{size:,} bytes instead of {noted[0]:,}"
        return "other content than was written" if (reads or is_small(path.name)) and measured(path) != noted else ""
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def is_small(name: str) -> bool:
    """Tell by its name whether a file is read whenever it is compared."""
    return name.endswith((".json", ".jsonl"))


def is_noted(data_dir: Path, name: str, content: bytes) -> bool:
    """Tell whether a file was noted with this content."""
    return read_inventory(data_dir).files.get(name) == (len(content), hashlib.sha256(content).hexdigest())


def measured(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 of a file."""
    return path.stat().st_size, file_hash(path)


def _name(data_dir: Path, path: Path) -> str:
    return str(path.relative_to(data_dir))


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    make_folder(data_dir)
    descriptor = os.open(data_dir / "inventory.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def record_stores(data_dir: Path) -> None:
    """Record how far both stores have come; one that does not continue its record stays as it was recorded."""
    for name in STORES:
        if (data_dir / name).exists():
            with changing(data_dir) as inventory:
                record_store(data_dir / name, name, inventory)


def record_store(path: Path, name: str, inventory: Inventory) -> None:
    """Record in an inventory how far a store has come."""
    if found := recorded(path, name, inventory.stores.get(name)):
        inventory.stores[name] = found


def accept(data_dir: Path) -> None:
    """Record everything as it is now, whatever was recorded: losses are given up."""
    accept_files(data_dir)
    record_stores(data_dir)
