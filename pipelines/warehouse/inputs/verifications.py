"""Keep the log of verifications: which part of the warehouse was proven when, as lines of JSON beside the warehouse.

A rebuild does not restore it.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 -- msgspec reads the annotations
from typing import TYPE_CHECKING

import msgspec

from pipelines.inventory import write_noted

if TYPE_CHECKING:
    from pathlib import Path

KEPT = 2_000  # entries: a rotation of 64 nights, several parts a night


class Verified(msgspec.Struct, frozen=True):
    """One part that was compared: `part` is orders (a range of ids), day, entities (stores and menus) or all."""

    no: int
    verified_at: dt.datetime
    part: str
    order_count: int
    table_count: int
    difference_count: int
    duration_ms: int
    first_order_id: int | None = None
    last_order_id: int | None = None
    business_date: dt.date | None = None
    first_difference: str | None = None
    release_id: str | None = None

    @property
    def is_proven(self) -> bool:
        """Whether every row was the same."""
        return not self.difference_count


def verifications(data_dir: Path) -> list[Verified]:
    """Return what was verified, oldest first; a line that cannot be read is left out."""
    found = []
    try:
        lines = _file(data_dir).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Verified))
        except msgspec.DecodeError:
            continue
    return found


def append_verification(data_dir: Path, verified: Verified) -> None:
    """Add an entry, durably; the oldest beyond so many go."""
    kept = [*verifications(data_dir), verified][-KEPT:]
    file = _file(data_dir)
    write_noted(data_dir, file, b"".join(msgspec.json.encode(each) + b"\n" for each in kept))


def verifications_state(data_dir: Path) -> str:
    """Return a text that differs when the log does."""
    try:
        stat = _file(data_dir).stat()
    except FileNotFoundError:
        return ""
    return f"{stat.st_size}:{stat.st_mtime_ns}"


def _file(data_dir: Path) -> Path:
    return data_dir / "warehouse" / "verifications.jsonl"
