"""Kill or fail a night at its operations on files, one at a time, and compare the next night's result.

Each operation is a point: a write, sync, rename, link, truncation, creation or removal below the data folder or the
backups. `kill` does half of a write and then kills; `full` lets it and all later writes fail for want of space;
`broken` lets it alone fail with an I/O error.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.sweep.bench import MODES, STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.sweep.bench import Bench

TAKES_NO_ROOM = ("sync", "rename", "unlink", "truncate")
_VARIES = re.compile(r"[0-9a-f]{6,}|\d{4,}[\dT]*|month=[^/]*")


class Point(NamedTuple):
    """The n-th operation of a stage, what happens at it, and what it is an operation on."""

    stage: str
    at: int
    mode: str
    operation: str


@dataclass
class Tally:
    """What a sweep found: points by stage and mode, and each that lost something, with what."""

    points: dict[str, int]
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: list[tuple[Point, list[str]]] = field(default_factory=list)

    def lines(self) -> Iterable[str]:
        """Yield a table of the figures."""
        yield f"{'stage':12} {'points':>7} {'kills':>7} {'full':>7} {'broken':>7} {'lost':>5}"
        for stage in STAGES:
            lost = sum(point.stage == stage for point, _ in self.lost)
            done = " ".join(f"{self.done[stage, mode]:7}" for mode in MODES)
            yield f"{stage:12} {self.points.get(stage, 0):7} {done} {lost:5}"
        done = " ".join(f"{sum(self.done[stage, mode] for stage in STAGES):7}" for mode in MODES)
        yield f"{'all':12} {sum(self.points.values()):7} {done} {len(self.lost):5}"


def all_points(seen: dict[str, list[str]], modes: Iterable[str] = tuple(MODES)) -> list[Point]:
    """Return every point of every mode; of a full disk only where room is taken."""
    return [
        Point(stage, at, mode, operation)
        for stage, operations in seen.items()
        for at, operation in enumerate(operations, 1)
        for mode in modes
        if mode != "full" or not operation.startswith(TAKES_NO_ROOM)
    ]


def sample(points: list[Point], each: int, seed: int = 1) -> list[Point]:
    """Return up to `each` points of every kind of operation on every kind of file in every mode, in random order."""
    rng = random.Random(seed)
    kinds: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        operation, _, path = point.operation.partition("\t")
        kind = "/".join(_VARIES.sub("#", path).split("/")[:5])
        kinds.setdefault((point.stage, point.mode, operation, kind), []).append(point)
    found = [point for kind in kinds.values() for point in rng.sample(kind, min(each, len(kind)))]
    rng.shuffle(found)
    return found


def sweep(
    bench: Bench,
    points: Iterable[Point],
    *,
    ends: float = float("inf"),
    say: Callable[[str], None] = print,
) -> Tally:
    """Try points until there are no more, or the monotonic time `ends` is reached."""
    tally = Tally({stage: len(operations) for stage, operations in bench.seen.items()})
    for point in points:
        if time.monotonic() > ends:
            break
        bench.fresh(bench.before(point.stage))
        found = bench.job("stage", stage=point.stage, mode=MODES[point.mode], at=point.at)
        wrong = [str(found["error"])] if found.get("hung") else bench.differences(point.stage)
        tally.done[point.stage, point.mode] += 1
        if tally.done.total() % 25 == 0:
            say(f"{tally.done.total()} tried, {len(tally.lost)} lost")
        if wrong:
            tally.lost.append((point, wrong))
            say(f"LOST at {point.stage} {point.at}, {point.mode}, {point.operation!r}: {'; '.join(wrong[:3])}")
            say(f"  it ended: {found.get('error', found)}")
    return tally
