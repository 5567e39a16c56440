"""Lose power after every operation of a recorded night, and compare the next night's result.

Of an operation after which the same would be left as before it, nothing is tried.
"""

from __future__ import annotations

import random
import re
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.sweep.bench import STAGES
from tests.sweep.disk import LOSSES, Disk, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.sweep.bench import Bench
    from tests.sweep.disk import Operation

ORDERS = 200
_VARIES = re.compile(r"[0-9a-f]{6,}|\d{4,}[\dT]*|month=[^/]*")


class State(NamedTuple):
    """A state after so many operations of a stage."""

    stage: str
    prefix: int
    loss: str
    operation: str


@dataclass
class Losses:
    """What was found: prefixes by stage, different states, those tried, and what was lost."""

    prefixes: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: list[tuple[State, list[str]]] = field(default_factory=list)

    def lines(self) -> Iterable[str]:
        """Yield a table of the figures."""
        yield (
            f"{'stage':12} {'prefixes':>8} {'states':>7} " + " ".join(f"{loss:>8}" for loss in LOSSES) + f" {'lost':>5}"
        )
        for stage in STAGES:
            done = " ".join(f"{self.done[stage, loss]:8}" for loss in LOSSES)
            lost = sum(state.stage == stage for state, _ in self.lost)
            yield f"{stage:12} {self.prefixes[stage]:8} {self.states[stage]:7} {done} {lost:5}"
        done = " ".join(f"{sum(self.done[stage, loss] for stage in STAGES):8}" for loss in LOSSES)
        yield f"{'all':12} {self.prefixes.total():8} {self.states.total():7} {done} {len(self.lost):5}"


def replay(bench: Bench, night: dict[str, list[Operation]]) -> Iterator[tuple[State, Disk]]:
    """Yield each state that differs from that of the operation before, and the disk in it."""
    disk = Disk(bench.base)
    for stage, operations in night.items():
        for prefix, operation in enumerate(operations, 1):
            for loss in disk.apply(operation):
                yield State(stage, prefix, loss, f"{operation.letter}\t{operation.path}"), disk


def lose_power(
    bench: Bench,
    *,
    every: bool = False,
    each: int = 1,
    most: int = 0,
    seed: int = 1,
    ends: float = float("inf"),
    say: Callable[[str], None] = print,
) -> Losses:
    """Try every state, or `each` of every kind of operation, file and loss, at `most` so many, until `ends`."""
    if not bench.seen:
        bench.expect()
    night = {stage: recorded(bench.record_of(stage)) for stage in STAGES}
    found = Losses(Counter({stage: len(operations) for stage, operations in night.items()}))
    states = [state for state, _ in replay(bench, night)]
    found.states = Counter(state.stage for state in states)
    chosen = states if every else _sample(states, each, seed)
    wanted = set(random.Random(seed).sample(chosen, min(most or len(chosen), len(chosen))))
    say(f"{len(wanted)} of {len(states)} states")
    for state, disk in replay(bench, night):
        if state not in wanted:
            continue
        if time.monotonic() > ends:
            break
        shutil.rmtree(bench.place, ignore_errors=True)
        bench.place.mkdir()
        disk.write(bench.place, state.loss)
        wrong = bench.differences(state.stage)
        found.done[state.stage, state.loss] += 1
        if found.done.total() % 25 == 0:
            say(f"{found.done.total()} of {len(wanted)} tried, {len(found.lost)} lost")
        if wrong:
            found.lost.append((state, wrong))
            say(
                f"LOST after {state.prefix} of {state.stage}, {state.loss}, {state.operation!r}: {'; '.join(wrong[:3])}"
            )
    return found


def _sample(states: list[State], each: int, seed: int) -> list[State]:
    rng = random.Random(seed)
    kinds: dict[tuple[str, ...], list[State]] = {}
    for state in states:
        letter, _, path = state.operation.partition("\t")
        kind = "/".join(_VARIES.sub("#", path).split("/")[:5])
        kinds.setdefault((state.stage, state.loss, letter, kind), []).append(state)
    return [state for kind in kinds.values() for state in rng.sample(kind, min(each, len(kind)))]
