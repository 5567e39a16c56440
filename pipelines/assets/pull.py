"""Fetch what the work list holds and land it, in loads small enough that a kill loses little.

Knows nothing of Dagster. A body goes from the client to the gate and is kept nowhere in between.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pipelines.inbox.worklist import WorkList
from pipelines.landing import Refusal, guard_source, open_load
from pipelines.partner import Failed, Fetched, PartnerClient, fetch_all
from pipelines.partner.pointer import get, get_all
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from pipelines.inbox.entries import Kind
    from pipelines.landing import Load
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
    def __init__(
        self, settings: Settings, vault: Vault, work: WorkList, kind: Kind, progress: Progress | None
    ) -> None:
        self.settings, self.vault, self.work, self.kind = settings, vault, work, kind
        self.progress = progress or (lambda *_: None)
        self.result = Pulled(kind)
        self.menu_ids: set[int] = set()

    async def run(self) -> Pulled:
        async with PartnerClient(
            self.settings.partner, max_bytes=self.settings.landing.max_bytes
        ) as client:
            if self.kind == "stores":
                await self._list_stores(client)
            due = self.work.due(self.kind)
            done = 0
            for chunk in _chunks(due):
                self.work.started(self.kind, chunk)
                with open_load(self.settings, self.vault, self.kind) as load:
                    outcome = _Outcome()
                    async for answer in fetch_all(client, self.kind, chunk):
                        self._judge(load, answer, outcome)
                        done += 1
                        self.progress(self.kind, done, len(due))
                    summary = load.commit()
                self.result.counts.update(summary.counts)
                self.result.refused.extend(summary.quarantined)
                self.result.loads.append(summary.load_id)
                self._report(outcome)
        self.work.add("menus", sorted(self.menu_ids), why="store record")
        return self.result

    async def _list_stores(self, client: PartnerClient) -> None:
        pointer = self.settings.partner.store.id_pointer
        ids: list[int] = []
        async for page in client.list_stores():
            for record in page:
                store_id = get(record, pointer)
                if isinstance(store_id, int) and not isinstance(store_id, bool):
                    ids.append(store_id)
                else:
                    self.result.counts["quarantined"] += 1
        self.work.add("stores", ids, why="store list")

    def _judge(self, load: Load, answer: Fetched | Failed, outcome: _Outcome) -> None:
        if isinstance(answer, Failed):
            load.failed(answer.id, answer.reason, observed_at=datetime.now(UTC))
            self.result.refused.append(Refusal(answer.id, answer.reason, None))
            outcome.failed.append(answer)
        elif answer.status == 404:  # noqa: PLR2004 -- interface section 7
            load.missing(answer.id, observed_at=answer.fetched_at, http_status=answer.status)
            outcome.missing.append(answer.id)
        else:
            load.judge(
                answer.body, asked=answer.id, observed_at=answer.fetched_at, http_status=answer.status
            )
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
