"""Keep what was counted of the service's behaviour: one small file a day, below raw/.

Each write replaces the day's file whole.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from pipelines.inventory import write_noted
from pipelines.landing.lock import LandingError
from pipelines.partner.behaviour import Counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SUFFIX = ".json"
# The aspects of older files, and what they are called today.
_OLD_ASPECTS = {
    "ms": "duration_ms",
    "bytes": "response_bytes",
    "token_life": "token_lifetime",
    "trouble": "request_error",
}


def keep_behaviour(data_dir: Path, counted: Iterable[Counted]) -> None:
    """Add counts to the file of the day, in UTC, on which each was last met."""
    by_day = sorted(counted, key=_day)
    for day, new in groupby(by_day, key=_day):
        path = _folder(data_dir) / (day + _SUFFIX)
        held = {(each.operation, each.aspect, each.name): each for each in _read(path)}
        for each in new:
            key = (each.operation, each.aspect, each.name)
            held[key] = _sum(held[key], each) if key in held else each
        write_noted(data_dir, path, msgspec.json.encode([held[key] for key in sorted(held)]))


def service_log(data_dir: Path) -> Iterator[tuple[str, Counted]]:
    """Yield what was counted, as (day, counted), day by day, under today's names; of a day a name may come twice."""
    for path in _files(data_dir):
        for each in _read(path):
            yield path.stem, msgspec.structs.replace(each, aspect=_OLD_ASPECTS.get(each.aspect, each.aspect))


def service_log_state(data_dir: Path) -> str:
    """Return a text that differs when the log does, for the price of listing a folder."""
    found = [(path.name, path.stat()) for path in _files(data_dir)]
    return " ".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in found[-2:]) + f" {len(found)}"


def _folder(data_dir: Path) -> Path:
    return data_dir / "raw" / "service"


def _files(data_dir: Path) -> list[Path]:
    return sorted(_folder(data_dir).glob("*" + _SUFFIX))


def _day(counted: Counted) -> str:
    return counted.last_at.date().isoformat()


def _read(path: Path) -> list[Counted]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Counted]) if path.exists() else []
    except msgspec.DecodeError:
        raise LandingError(
            f"{path} is damaged: restore it from a backup, or remove it; it only counts that day's requests"
        ) from None


def _sum(one: Counted, other: Counted) -> Counted:
    lows = [each.least for each in (one, other) if each.least is not None]
    highs = [each.greatest for each in (one, other) if each.greatest is not None]
    return Counted(
        one.operation,
        one.aspect,
        one.name,
        one.n + other.n,
        min(lows, default=None),
        max(highs, default=None),
        min(one.first_at, other.first_at),
        max(one.last_at, other.last_at),
    )
