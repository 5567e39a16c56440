"""What became of requested ids: of those of one load, and of a whole kind.

Knows nothing of requests, files or the work list.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow.parquet as pq

from pipelines.inbox.entries import INT64
from pipelines.inbox.gaps import NotFoundGuard, is_above
from pipelines.landing import Refusal, raw_files
from pipelines.partner import Failed, RunStopped
from pipelines.partner.pointer import get_all
from pipelines.vault import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.partner import Fetched
    from pipelines.settings import Settings

_OK, _NOT_FOUND = 200, 404


class SuspectBaseUrlError(Exception):
    """Too many known ids are not found: base_url may be wrong. The responses that showed it were not landed."""


@dataclass
class Ingested:
    """The result for one kind: payloads by verdict, what was rejected or failed, and why it is not complete.

    `stopped` is why nothing more of this kind was requested; `shortfalls` are sentences on what is missing or doubtful.
    """

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[Refusal] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    stopped: RunStopped | SuspectBaseUrlError | None = None
    shortfalls: list[str] = field(default_factory=list)

    @property
    def requested(self) -> int:
        """How many ids were requested."""
        return sum(self.counts.values())


@dataclass
class Outcome:
    """What became of the ids of one load."""

    fetched: list[int] = field(default_factory=list)
    not_found: list[int] = field(default_factory=list)
    failed: list[Answer] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Record the result for an id."""
        if answer.code:
            self.failed.append(answer)
        elif answer.status == _NOT_FOUND:
            self.not_found.append(answer.id)
        else:
            self.fetched.append(answer.id)

    @property
    def answered(self) -> int:
        """How many ids have a result."""
        return len(self.fetched) + len(self.not_found) + len(self.failed)

    def sorted_by_verdict(self, refusals: Iterable[Refusal]) -> tuple[list[int], dict[str, list[int]]]:
        """Return the fetched ids that validation accepted, and those that it rejected by reason."""
        reasons = {refusal.id: refusal.reason for refusal in refusals}
        rejected = defaultdict(list)
        for id_ in self.fetched:
            if id_ in reasons:
                rejected[reasons[id_]].append(id_)
        return [id_ for id_ in self.fetched if id_ not in reasons], rejected


def refusals_of(data_dir: Path, kind: str, load_id: str) -> list[Refusal]:
    """Return what a landed load rejected."""
    for file in raw_files(data_dir, kind).observations:
        if load_id in file.load_ids:
            table = pq.read_table(file.path, columns=["id", "reason", "pointer", "verdict", "load_id"])
            return [
                Refusal(row["id"], row["reason"], row["pointer"])
                for row in table.to_pylist()
                if row["verdict"] == "quarantined" and row["load_id"] == load_id
            ]
    return []


class NotFoundCheck:
    """Judges the 404s of one kind: among known ids they stop it, among others they are reported at its end."""

    def __init__(self, settings: Settings, kind: str, known: set[int], unexpected: set[int]) -> None:
        limit = settings.planner.max_not_found_rate
        self._known, self._others = known, unexpected - known
        self._guard = NotFoundGuard(limit, len(self._known), kind)
        self._report = NotFoundGuard(limit, len(self._others), kind)

    def count(self, answer: Answer) -> None:
        """Count a response; raise SuspectBaseUrlError before 404s from a wrong address mark known ids as deleted."""
        if answer.code:
            return
        if answer.id in self._known:
            if self._guard.trips(not_found=answer.status == _NOT_FOUND):
                raise SuspectBaseUrlError(self._guard.sentence())
        elif answer.id in self._others:
            self._report.trips(not_found=answer.status == _NOT_FOUND)

    def sentences(self) -> list[str]:
        """Say so if too many ids that were never held are not found."""
        return [self._report.sentence_on_new()] if self._report.is_exceeded else []


class FailedCheck:
    """Judges the ids of one kind that failed: above [planner] max_failed_rate the service is at fault, not they."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._limit, self._kind = settings.planner.max_failed_rate, kind
        self.before = 0  # ids that failed in such a run before, and are not due yet
        self._answered = 0
        self._reasons: Counter[str] = Counter()

    def is_exceeded(self, outcome: Outcome) -> bool:
        """Count the answers of a load; tell whether too many of them are failures."""
        self._answered += outcome.answered
        self._reasons.update(answer.reason for answer in outcome.failed)
        return is_above(self._limit, len(outcome.failed), outcome.answered)

    def sentences(self) -> list[str]:
        """Say so if too many ids failed, in all loads and in runs before, with the reason that most of them have."""
        failed = self._reasons.total()
        if not is_above(self._limit, failed + self.before, self._answered + self.before):
            return []
        said = [f"{self.before:,} {self._kind} failed before and wait to be requested again"] if self.before else []
        for reason, count in self._reasons.most_common(1):
            rate = f"{failed:,} of {self._answered:,} requested {self._kind} failed"
            said.append(f"{rate}, {count:,} of them because {reason}; more than [planner] max_failed_rate")
        return said


def answer_of(answer: Fetched | Failed) -> Answer:
    """Return an answer as the spool keeps it."""
    cost = (round(answer.ms), answer.bytes, answer.attempts, answer.earlier)
    if isinstance(answer, Failed):
        return Answer(answer.id, answer.fetched_at, answer.status, b"", answer.code, answer.reason, *cost)
    return Answer(answer.id, answer.fetched_at, answer.status, answer.body, "", "", *cost)


def listed_id(record: bytes, settings: Settings) -> int | None:
    """Return the id of a listed store; None where there is no usable one."""
    try:
        found = get_all(msgspec.json.decode(record), settings.partner.store.id_pointer)
    except (ValueError, RecursionError):
        return None
    return found[0] if len(found) == 1 and type(found[0]) is int and found[0] in INT64 else None


def menu_ids_of(body: bytes, settings: Settings) -> Iterator[int]:
    """Yield the menus that a store record names."""
    try:
        record = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number out of range: validation reports it
        return
    for pointer in settings.partner.store.menu_id_pointers:
        for value in get_all(record, pointer):
            if isinstance(value, int) and not isinstance(value, bool):
                yield value
