"""How DuckDB writes what it stores, where what it chooses by itself costs much: sessions, new files, columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSION: dict[str, Any] = {
    "preserve_insertion_order": False,
    # Trying FSST on every text column takes most of the time of writing a table, and saves a quarter of the file.
    "disabled_compression_methods": "fsst",
}
# How a new file is attached that nobody needs before all of it is written: without a log, and of a format that DuckDB
# since 1.4 reads; text is written in half the time that older ones take.
DRAFT = "(storage_version 'v1.4.0', recovery_mode no_wal_writes)"

_NEVER_ALIKE = ("customer_key", "_payload_sha256", "sha256")


def spelled(columns: Iterable[tuple[str, str]]) -> str:
    """Return the columns, given by name and type, as `create table` wants them."""
    return ", ".join(f'"{name}" {kind}{_compression(name, kind)}' for name, kind in columns)


def _compression(name: str, kind: str) -> str:
    if kind.startswith("DECIMAL(38,"):  # numbers of 128 bits, packed, take 80 times as long to read
        return " using compression rle"
    if name in _NEVER_ALIKE:  # packing such texts takes five times as long as writing them, and saves a half
        return " using compression uncompressed"
    return ""
