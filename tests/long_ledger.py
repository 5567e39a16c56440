"""A ledger of many entries, and how many of them are read while something is done."""

from __future__ import annotations

import cProfile
import hashlib
import json
import pstats
from typing import TYPE_CHECKING, Any

from pipelines.ledger import ledger_of
from pipelines.ledger.signed_head import sign_missing_heads

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings


def lengthen(settings: Settings, entries: int) -> None:
    """Add comments and accesses to a ledger until it has so many entries, and sign its head."""
    ledger = ledger_of(settings.data_dir)
    previous, lines = ledger.head(), []
    for no in range(sum(1 for _ in ledger.lines()) + 1, entries + 1):
        fields: dict[str, Any] = {
            "no": no,
            "at": "2026-01-01T00:00:00.000000+00:00",
            "who": "root",
            "act": ("commented", "revealed")[no % 2],
            "body": {"keys": ["order:1"], "comment": "looked at", "uid": 0},
            "file": None,
            "file_sha256": None,
            "previous": previous,
        }
        fields["sha256"] = previous = hashlib.sha256(canonical(fields)).hexdigest()
        lines.append(canonical(fields) + b"\n")
    ledger.folder.mkdir(exist_ok=True)
    with (ledger.folder / "ledger.jsonl").open("ab") as file:
        file.writelines(lines)
    sign_missing_heads(settings)


def canonical(fields: dict[str, Any]) -> bytes:
    """Return the text of an entry."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def entries_read(work: Callable[[], object]) -> int:
    """Return how many entries are parsed while something is done."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(calls for (_, _, name), (calls, *_) in pstats.Stats(profile).stats.items() if name == "_entry")  # type: ignore[attr-defined]
