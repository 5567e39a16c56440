"""Remember in `raw/erasures.json` which erasures the raw files went through: a build compares it with its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.inventory import write_noted
from pipelines.landing.lock import LandingError

if TYPE_CHECKING:
    from pathlib import Path


def applied_erasures(data_dir: Path) -> list[str]:
    """Return the hashes of the ledger entries whose erasures were applied, in order."""
    path = _file(data_dir)
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])
    except FileNotFoundError:
        return []
    except msgspec.DecodeError:
        raise LandingError(f"{path} is damaged: remove it, and every erasure is applied again") from None


def note_erasure(data_dir: Path, entry_sha256: str) -> None:
    """Note that an erasure was applied to the vault and to all raw files."""
    write_noted(data_dir, _file(data_dir), msgspec.json.encode([*applied_erasures(data_dir), entry_sha256]))


def erasures_state(data_dir: Path) -> str:
    """Return the hash of the last erasure that was applied; "" before the first."""
    return next(reversed(applied_erasures(data_dir)), "")


def _file(data_dir: Path) -> Path:
    return data_dir / "raw" / "erasures.json"
