"""Remember the last runs: `data/notify/runs.json`, written by rename; nights and other runs are cut separately.

Knows nothing of what a run does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.notify.files import read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path

_KEPT = 60  # of nights, and as many of other runs


@dataclass(frozen=True)
class Run:
    """A run that ended: when (ISO 8601, UTC), its seconds, its outcome, and kind → verdict → count of what came.

    `errors` are sentences of this project, without texts of the partner's.
    """

    ended_at: str
    seconds: float
    is_good: bool
    is_nightly: bool = True
    is_new: bool = False
    landed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    errors: tuple[str, ...] = ()


def ended_run(started_at: dt.datetime, ended_at: dt.datetime, **facts: Any) -> Run:
    """Return a run by its beginning and end; `facts` are its other fields."""
    at = ended_at.astimezone(dt.UTC).isoformat(timespec="seconds")
    return Run(at, round((ended_at - started_at).total_seconds(), 1), **facts)


def runs(data_dir: Path) -> list[Run]:
    """Return the runs that are remembered, oldest first; [] when the file cannot be read."""
    return read_json(_file(data_dir), list[Run]) or []


def remember_run(data_dir: Path, run: Run) -> list[Run]:
    """Add a run, forget the oldest ones, and return those that are remembered, oldest first."""
    found = [*runs(data_dir), run]
    nights = [each for each in found if each.is_nightly][-_KEPT:]
    others = [each for each in found if not each.is_nightly][-_KEPT:]
    kept = sorted([*nights, *others], key=lambda each: each.ended_at)
    write_json(_file(data_dir), kept)
    return kept


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "runs.json"
