"""Fetch what the work list holds and land it, in loads small enough that a kill loses little.

Knows nothing of Dagster. A body goes from the client to the gate and is kept nowhere in between.
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
from pipelines.inbox.worklist import WorkList
from pipelines.landing import guard_source, open_load
from pipelines.partner import Failed, PartnerClient, RunStopped, fetch_all
from pipelines.partner.pointer import get, get_all
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.inbox.entries import Kind
    from pipelines.landing import Load, Refusal
    from pipelines.partner import Fetched
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]

_LOAD = 2_000  # bodies a load: what a kill can lose is fetched again


@dataclass
class Pulled:
    """What became of one kind: bodies by verdict, and what was refused or failed."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[Refusal] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """How many ids were asked for."""
        return sum(self.counts.values())


def pull(settings: Settings, kind: Kind, progress: Progress | None = None) -> Pulled:
    """Fetch and land all that is due of one kind; `progress` gets (kind, done, total).

    Stores come from the service's list each time; what their records name is added to the work list as menus.
    Raise PartnerError when the service cannot be worked with at all; what was landed by then stays.
    """
    guard_source(settings)
    path = settings.data_dir / "inbox" / "worklist.sqlite"
    with WorkList(path) as work, open_vault(settings) as vault:
        return asyncio.run(_Pull(settings, vault, work, kind, progress).run())


class _Pull:
    def __init__(self, settings: Settings, vault: Vault, work: WorkList, kind: Kind, progress: Progress | None) -> None:
        self.settings, self.vault, self.work, self.kind = settings, vault, work, kind
        self.progress = progress or (lambda *_: None)
        self.result = Pulled(kind)
        self.menu_ids: set[int] = set()

    async def run(self) -> Pulled:
        async with PartnerClient(self.settings.partner, max_bytes=self.settings.landing.max_bytes) as client:
            if self.kind == "stores":
                await self._list_stores(client)
            due = self.work.due(self.kind)
            for chunk in _chunks(due):
                await self._land(client, chunk, len(due))
        self.work.add("menus", sorted(self.menu_ids), why="store record")
        return self.result

    async def _land(self, client: PartnerClient, ids: list[int], due: int) -> None:
        """Fetch and land one load. What came before the service gave out is landed too."""
        stopped: RunStopped | None = None
        outcome = _Outcome()
        self.work.started(self.kind, ids)
        with open_load(self.settings, self.vault, self.kind) as load:
            try:
                async with aclosing(fetch_all(client, self.kind, ids)) as answers:
                    async for answer in answers:
                        self._judge(load, answer, outcome)
                        self.progress(self.kind, self.result.asked + outcome.answered, due)
            except RunStopped as error:
                stopped = error
            summary = load.commit()
        self.result.counts.update(summary.counts)
        self.result.refused.extend(summary.quarantined)
        self.result.loads.append(summary.load_id)
        self._report(outcome)
        if stopped is not None:
            raise stopped

    async def _list_stores(self, client: PartnerClient) -> None:
        """Put the listed stores on the work list; a record without a usable id goes to the gate, which refuses it."""
        strange: list[bytes] = []
        ids: list[int] = []
        async with aclosing(client.list_stores()) as pages:
            async for page in pages:
                for record in page:
                    store_id = get(msgspec.json.decode(record), self.settings.partner.store.id_pointer)
                    if isinstance(store_id, int) and not isinstance(store_id, bool) and store_id in INT64:
                        ids.append(store_id)
                    else:
                        strange.append(record)
        self.work.add("stores", ids, why="store list")
        if strange:
            with open_load(self.settings, self.vault, "stores") as load:
                for record in strange:
                    load.judge(record, observed_at=datetime.now(UTC))
                summary = load.commit()
            self.result.counts.update(summary.counts)
            self.result.refused.extend(summary.quarantined)

    def _judge(self, load: Load, answer: Fetched | Failed, outcome: _Outcome) -> None:
        if isinstance(answer, Failed):
            load.failed(answer.id, answer.code, observed_at=answer.fetched_at, http_status=answer.status)
            outcome.failed.append(answer)
        elif answer.status == 404:
            load.missing(answer.id, observed_at=answer.fetched_at, http_status=answer.status)
            outcome.missing.append(answer.id)
        else:
            load.judge(answer.body, asked=answer.id, observed_at=answer.fetched_at, http_status=answer.status)
            outcome.done.append(answer.id)
            if self.kind == "stores":
                self.menu_ids.update(_menu_ids(answer.body, self.settings))

    def _report(self, outcome: _Outcome) -> None:
        """Tell the work list, after the load is committed: what is told done is on the disk."""
        self.work.done(self.kind, outcome.done)
        self.work.missing(self.kind, outcome.missing)
        for failed in outcome.failed:
            self.work.failed(self.kind, failed.id, failed.reason)


@dataclass
class _Outcome:
    done: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return len(self.done) + len(self.missing) + len(self.failed)


def _menu_ids(body: bytes, settings: Settings) -> Iterator[int]:
    try:
        record = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return  # the gate says what is wrong with it
    for pointer in settings.partner.store.menu_id_pointers:
        for value in get_all(record, pointer):
            if isinstance(value, int) and not isinstance(value, bool):
                yield value


def _chunks(ids: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(ids), _LOAD):
        yield ids[first : first + _LOAD]
