"""The inventory: one record of data that cannot be rebuilt, kept apart from it, so that a missing file is noticed.

It has the size and hash of each file, how far each SQLite store had come, with counts and digests of its rows, and the
ledger's length and last hash.
"""

from pipelines.inventory.record import (
    COPY,
    INVENTORY,
    Head,
    Inventory,
    InventoryError,
    Store,
    adopt_files,
    changing,
    forget_files,
    note_files,
    read_inventory,
    settle,
    write_inventory,
    write_noted,
)
from pipelines.inventory.stores import STORES, VAULT, WORK_LIST, accept, record_stores, structure, track

__all__ = [
    "COPY",
    "INVENTORY",
    "STORES",
    "VAULT",
    "WORK_LIST",
    "Head",
    "Inventory",
    "InventoryError",
    "Store",
    "accept",
    "adopt_files",
    "changing",
    "forget_files",
    "note_files",
    "read_inventory",
    "record_stores",
    "settle",
    "structure",
    "track",
    "write_inventory",
    "write_noted",
]
