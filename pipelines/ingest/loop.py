"""Fetch what is due on the work list and land it, load by load; a kill loses only the requests in flight.

Knows nothing of Dagster. A body goes from the client to validation; until its load is committed an encrypted copy is in
the vault's spool, from which the next run recovers it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pipelines.inbox.entries import INT64
from pipelines.inbox.gaps import NotFoundGuard
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import resumed_since
from pipelines.landing import Cost, guard_source, open_load, raw_files
from pipelines.landing.service_log import keep_behaviour
from pipelines.partner import Failed, PartnerClient, RunStopped, fetch_all
from pipelines.partner.pointer import get_all
from pipelines.vault import Answer, open_spool, open_vault
from pipelines.warehouse.build.known import known_among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.landing import Load, LoadSummary, Refusal
    from pipelines.partner import Fetched
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind
    from pipelines.vault import Spool, Vault

    Progress = Callable[[str, int, int], None]

_LOAD = 2_000  # bodies per load


class SuspectBaseUrlError(Exception):
    """Too many known orders are not found: base_url may be wrong. The responses that showed it were not landed."""


@dataclass
class Ingested:
    """The result for one kind: payloads by verdict, and what was rejected or failed."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[Refusal] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    @property
    def requested(self) -> int:
        """How many ids were requested."""
        return sum(self.counts.values())


def ingest(
    settings: Settings,
    kind: Kind,
    progress: Progress | None = None,
    request: Callable[[WorkList], None] | None = None,
    *,
    lists: bool = True,
) -> Ingested:
    """Fetch and land everything of one kind that is due; `progress` gets (kind, done, total).

    `request` adds further ids to the work list, after the responses of a killed run were recovered. With `lists`, the
    service's list of stores is added too. Menus that store records name are put on the work list.
    Raise PartnerError if nothing more can be requested; what was landed by then stays. Raise SuspectBaseUrlError if
    more than [planner] max_not_found_rate of the known orders are not found.
    """
    guard_source(settings)
    with (
        WorkList(inbox_path(settings.data_dir)) as work,
        open_vault(settings) as vault,
        open_spool(settings, kind) as spool,
    ):
        ingestion = _Ingestion(settings, vault, spool, work, kind, progress)
        ingestion.recover()
        if request is not None:
            request(work)
        return asyncio.run(ingestion.run(lists=lists))


class _Ingestion:
    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        spool: Spool,
        work: WorkList,
        kind: Kind,
        progress: Progress | None,
    ) -> None:
        self.settings, self.vault, self.spool, self.work, self.kind = settings, vault, spool, work, kind
        self.progress = progress or (lambda *_: None)
        self.since = resumed_since(settings.data_dir)
        self.result = Ingested(kind)
        self.menu_ids: set[int] = set()
        self.known: set[int] = set()
        self.guard: NotFoundGuard | None = None

    async def run(self, *, lists: bool) -> Ingested:
        async with PartnerClient(self.settings.partner, max_bytes=self.settings.landing.max_bytes) as client:
            if self.kind == "stores" and lists:
                try:
                    await self._list_stores(client)
                finally:
                    keep_behaviour(self.settings.data_dir, client.behaviour.take())
            due = self.work.due(self.kind)
            if self.kind == "orders":
                self.known = known_among(self.settings.data_dir, due)
                self.guard = NotFoundGuard(self.settings.planner.max_not_found_rate, len(self.known))
            for chunk in _chunks(due):
                try:
                    await self._land(client, chunk, len(due))
                finally:
                    keep_behaviour(self.settings.data_dir, client.behaviour.take())
        return self.result

    async def _land(self, client: PartnerClient, ids: list[int], due: int) -> None:
        """Fetch and land one load, also what was received before the run was stopped."""
        stopped: RunStopped | None = None
        outcome = _Outcome()
        self.work.started(self.kind, ids)
        with open_load(self.settings, self.vault, self.kind) as load:
            self.spool.begin(load.load_id)
            try:
                async with aclosing(fetch_all(client, self.kind, ids)) as answers:
                    async for fetched in answers:
                        answer = _answer(fetched)
                        self._check_base_url(answer)
                        self.spool.add(answer)
                        self._judge(load, answer, outcome)
                        self.progress(self.kind, self.result.requested + outcome.answered, due)
            except RunStopped as error:
                stopped = error
            except SuspectBaseUrlError:
                self.spool.end()
                raise
            self._count(load.commit())
        self._report(outcome)
        self.spool.end()
        if stopped is not None:
            raise stopped

    def _check_base_url(self, answer: Answer) -> None:
        """Stop before 404s from a wrong address mark known orders as deleted."""
        is_known = answer.id in self.known and not answer.code
        if is_known and self.guard is not None and self.guard.trips(not_found=answer.status == 404):
            raise SuspectBaseUrlError(self.guard.sentence())

    def recover(self) -> None:
        """Land the responses that a killed run left in the spool; if it had landed them, update only the work list."""
        left = self.spool.left()
        if left is None:
            return
        outcome = _Outcome()
        if left.load_id in raw_files(self.settings.data_dir, self.kind).load_ids:
            self.vault.finish(left.load_id)
            for answer in left.answers:
                self._note(answer, outcome)
        else:
            with open_load(self.settings, self.vault, self.kind) as load:
                self.spool.begin(load.load_id, left.answers)
                for answer in left.answers:
                    self._judge(load, answer, outcome)
                self._count(load.commit())
        self._report(outcome)
        self.spool.end()

    def _count(self, summary: LoadSummary) -> None:
        self.result.counts.update(summary.counts)
        self.result.refused.extend(summary.quarantined)
        self.result.loads.append(summary.load_id)

    async def _list_stores(self, client: PartnerClient) -> None:
        """Put the listed stores on the work list; land records without a usable id, which validation rejects."""
        without_id: list[bytes] = []
        ids: list[int] = []
        async with aclosing(client.list_stores()) as pages:
            async for page in pages:
                for record in page:
                    found = get_all(msgspec.json.decode(record), self.settings.partner.store.id_pointer)
                    if len(found) == 1 and type(found[0]) is int and found[0] in INT64:
                        ids.append(found[0])
                    else:
                        without_id.append(record)
        self.work.add("stores", ids, why="store list", unless_done_since=self.since)
        if without_id:
            with open_load(self.settings, self.vault, "stores") as load:
                for record in without_id:
                    load.validate(record, observed_at=datetime.now(UTC))
                self._count(load.commit())

    def _judge(self, load: Load, answer: Answer, outcome: _Outcome) -> None:
        self._note(answer, outcome)
        at, status = answer.fetched_at, answer.status
        cost = Cost(answer.ms, answer.size, answer.tries, answer.earlier) if answer.tries else None
        if answer.code:
            load.failed(answer.id, answer.code, at, status, cost)
        elif status == 404:
            load.missing(answer.id, at, status, cost)
        else:
            load.validate(answer.body, answer.id, at, status, cost=cost)

    def _note(self, answer: Answer, outcome: _Outcome) -> None:
        outcome.add(answer)
        if self.kind == "stores" and answer.status == 200:
            self.menu_ids.update(_menu_ids(answer.body, self.settings))

    def _report(self, outcome: _Outcome) -> None:
        """Update the work list after the load is committed, so that whatever it calls done is on the disk."""
        self.work.add("menus", sorted(self.menu_ids), why="store record", unless_done_since=self.since)
        self.work.done(self.kind, outcome.done)
        self.work.not_found(self.kind, outcome.not_found)
        for failed in outcome.failed:
            self.work.failed(self.kind, failed.id, failed.reason)


@dataclass
class _Outcome:
    done: list[int] = field(default_factory=list)
    not_found: list[int] = field(default_factory=list)
    failed: list[Answer] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Record the result for an id."""
        if answer.code:
            self.failed.append(answer)
        elif answer.status == 404:
            self.not_found.append(answer.id)
        else:
            self.done.append(answer.id)

    @property
    def answered(self) -> int:
        return len(self.done) + len(self.not_found) + len(self.failed)


def _answer(answer: Fetched | Failed) -> Answer:
    cost = (round(answer.ms), answer.bytes, answer.attempts, answer.earlier)
    if isinstance(answer, Failed):
        return Answer(answer.id, answer.fetched_at, answer.status, b"", answer.code, answer.reason, *cost)
    return Answer(answer.id, answer.fetched_at, answer.status, answer.body, "", "", *cost)


def _menu_ids(body: bytes, settings: Settings) -> Iterator[int]:
    try:
        record = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return  # validation reports it
    for pointer in settings.partner.store.menu_id_pointers:
        for value in get_all(record, pointer):
            if isinstance(value, int) and not isinstance(value, bool):
                yield value


def _chunks(ids: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(ids), _LOAD):
        yield ids[first : first + _LOAD]
