"""How the columns of stored tables are compressed, where what DuckDB chooses by itself costs much.

Knows nothing of which tables there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
