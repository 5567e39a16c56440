"""Fetch the due ids of the work list and land them, load by load; a kill loses only the requests in flight.

A body goes from the client to validation; until its load is committed an encrypted copy is in the vault's spool, from
which the next run recovers it.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import Counter, defaultdict
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.store import BAD_TOGETHER, EPOCH, INT64, inbox_path
from pipelines.inbox.worklist import FAILED_FOR, WorkList
from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.outcome import (
    AnswerCheck,
    Ingested,
    Outcome,
    StoreRecords,
    SuspectBaseUrlError,
    answer_of,
    listed_id,
    menu_ids_of,
    refusals_of,
)
from pipelines.landing.data_folder import guard_source, keep_behaviour
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import raw_files
from pipelines.landing.raw_rows import FetchCost
from pipelines.partner.answers import ListingBroken, RunStopped
from pipelines.partner.client import fetch_all
from pipelines.partner.pointer import raw_at
from pipelines.vault import open_spool, open_vault
from pipelines.warehouse.building.stored_warehouse import known_among, known_ids, stores_of_orders

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary, Refusal
    from pipelines.partner.client import PartnerClient
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind
    from pipelines.vault import FetchedBody, Spool, Vault

    Progress = Callable[[str, int, int], None]

__all__ = ["Ingested", "SuspectBaseUrlError", "ingest"]

_LOAD = 2_000  # bodies per load
_MOST_MISSING = 100  # menus of a store in a row, before its others wait
_OTHERS = 3  # ids that came well, beside ids that failed alone
RECENT = timedelta(days=28)  # orders whose stores the list should have
_WITHOUT_ID = 1_000  # listed records without a usable id; more of them are no list of stores


def ingest(
    settings: Settings,
    kind: Kind,
    progress: Progress | None = None,
    request: Callable[[WorkList], None] | None = None,
    *,
    lists: bool = True,
    session: PartnerSession | None = None,
    since: dt.datetime | None = None,
) -> Ingested:
    """Fetch and land everything of one kind that is due; `progress` gets (kind, done, total).

    `request` adds further ids to the work list, after the responses of a killed run were recovered. With `lists`, the
    service's list of stores is added too, or the known stores if there is no usable list. Menus that store records name
    are put on the work list. `session` is shared by the kinds of a run. What was fetched `since` then, by a killed run
    that this one resumes, is not requested again. The result says which miss, and whether the service, or the
    doubt about its address, stopped it.
    """
    guard_source(settings)
    with ExitStack() as stack:
        work = stack.enter_context(WorkList(inbox_path(settings.data_dir)))
        vault = stack.enter_context(open_vault(settings))
        spool = stack.enter_context(open_spool(settings, kind))
        session = session or stack.enter_context(PartnerSession(settings))
        ingestion = _Ingestion(settings, vault, spool, work, kind, progress or (lambda *_: None), since)
        if kind == "menus" and any(
            before.kind == "stores" and (before.stopped or before.counts["failed"]) for before in session.ingested
        ):
            # Nobody names them otherwise.
            work.add("menus", known_ids(settings.data_dir, "menus"), why="store record")
        ingestion.store_of = {menu: store for before in session.ingested for menu, store in before.store_of.items()}
        session.ingested.append(ingestion.result)
        ingestion.recover()
        if request is not None:
            request(work)
        session.run(lambda client: ingestion.run(client, lists=lists))
        if kind == "menus":
            for before in session.ingested:
                ingestion.result.shortfalls += before.of_menus
        return ingestion.result


@dataclass
class _Ingestion:
    settings: Settings
    vault: Vault
    spool: Spool
    work: WorkList
    kind: Kind
    progress: Progress
    since: dt.datetime | None

    def __post_init__(self) -> None:
        self.result = Ingested(self.kind)
        self.menu_ids: set[int] = set()
        self.store_of: dict[int, int] = {}
        self.missing_in_a_row: Counter[int] = Counter()  # menus by store
        self.check = AnswerCheck(self.settings, self.kind)
        self.records = StoreRecords(self.settings)
        self.known: set[int] = set()
        self.recent = f"{utc_now() - RECENT:%Y-%m-%d}"

    async def run(self, client: PartnerClient, *, lists: bool) -> None:
        try:
            if self.kind == "stores" and lists:
                await self._list_stores(client)
            due = self.work.due(self.kind)
            if due and set(due) <= set(self.work.failing(self.kind)):
                # Others first, that came well: they tell failing ids from a service that fails.
                self.work.add(self.kind, self.work.latest(self.kind, _OTHERS), why="comparison", due_at=EPOCH)
                due = self.work.due(self.kind)
            self.result.due = len(due)
            self.known = known_among(self.settings.data_dir, self.kind, due)
            judged, before = self.work.judged(self.kind), self.work.bad_before(self.kind)
            self.check = AnswerCheck(self.settings, self.kind, self.known, judged, before)
            for first in range(0, len(due), _LOAD):
                try:
                    await self._land(client, due[first : first + _LOAD], len(due))
                finally:
                    keep_behaviour(self.settings.data_dir, client.behaviour.take())
        except (RunStopped, SuspectBaseUrlError) as error:
            self.result.stopped = error
            self.result.shortfalls.append(str(error))
        self.result.shortfalls += self.check.sentences()
        if unfetched := self.work.unfetched(self.kind):
            (number, why), count = unfetched[0], sum(number for number, _ in unfetched)
            late = f"{count:,} {self.kind} could not be fetched for longer than two nights, {number:,} of them because"
            self.result.shortfalls.append(
                f"{late} {why}; {FAILED_FOR.days} days after the first try they wait for `ordermart retry`"
            )
        if hopeless := sum(missing >= _MOST_MISSING for missing in self.missing_in_a_row.values()):
            self.result.shortfalls.append(
                f"{hopeless:,} stores name menus of which the service had none of {_MOST_MISSING} in a row; their "
                "others wait for the next night: check [partner.store] menu_id_pointers"
            )
        if self.result.listed is not None:
            self.result.shortfalls += self.records.of_stores()
            self.result.of_menus = self.records.of_menus()

    async def _land(self, client: PartnerClient, ids: list[int], due: int) -> None:
        """Fetch and land one load, also what was received before the run was stopped."""
        stopped: RunStopped | asyncio.CancelledError | None = None
        outcome = Outcome()
        self.work.started(self.kind, ids)
        with Load(self.settings, self.vault, self.kind) as load:
            self.spool.begin(load.load_id)
            try:
                asked = (id_ for id_ in ids if self.missing_in_a_row[self.store_of.get(id_, -1)] < _MOST_MISSING)
                async with aclosing(fetch_all(client, self.kind, asked)) as answers:
                    async for fetched in answers:
                        answer = answer_of(fetched)
                        if (store := self.store_of.get(answer.id)) is not None:
                            missing = self.missing_in_a_row[store] + 1
                            self.missing_in_a_row[store] = missing if answer.status == 404 else 0
                        self.result.answered += 1
                        self.check.count(answer)
                        self.spool.add(answer)
                        self._validate(load, answer, outcome)
                        self.progress(self.kind, self.result.requested + outcome.answered, due)
            except (RunStopped, asyncio.CancelledError) as error:
                stopped = error
            except SuspectBaseUrlError:
                self.spool.end()
                raise
            summary = load.commit()
        self._count(summary)
        self._report(outcome, summary.quarantined)
        self.spool.end()
        if stopped is not None:
            raise stopped

    def recover(self) -> None:
        """Land the responses that a killed run left in the spool; if it had landed them, update only the work list."""
        left = self.spool.left()
        if left is None:
            return
        outcome = Outcome()
        if left.load_id in raw_files(self.settings.data_dir, self.kind).load_ids:
            self.vault.finish(left.load_id)
            for answer in left.answers:
                self._note(answer, outcome)
            refusals = refusals_of(self.settings.data_dir, self.kind, left.load_id)
        else:
            with Load(self.settings, self.vault, self.kind) as load:
                self.spool.begin(load.load_id, left.answers)
                for answer in left.answers:
                    self._validate(load, answer, outcome)
                summary = load.commit()
            self._count(summary)
            refusals = summary.quarantined
        self._report(outcome, refusals)
        self.spool.end()

    def _count(self, summary: LoadSummary) -> None:
        self.result.counts.update(summary.counts)
        self.result.refused.extend(summary.quarantined)
        self.result.loads.append(summary.load_id)
        self.result.returned += summary.returned

    async def _list_stores(self, client: PartnerClient) -> None:
        """Put the listed stores on the work list; without a usable list the known ones, which name their menus."""
        missing = ""
        ids: list[int] = []
        try:
            await self._read_list(client, ids)
        except ListingBroken as error:
            missing = str(error)
        finally:
            keep_behaviour(self.settings.data_dir, client.behaviour.take())
        if not ids and not missing:
            missing = f"[partner.list_stores] {self.settings.partner.list_stores.path}: the list names no store"
        if missing:
            known = known_ids(self.settings.data_dir, "stores")
            ids += known
            self.result.shortfalls.append(f"{missing}; {len(known):,} known stores are requested one by one")
        else:
            self.result.listed = frozenset(ids)
        self.work.add("stores", ids, why="store list", unless_done_since=self.since)

    async def _read_list(self, client: PartnerClient, ids: list[int]) -> None:
        """Add the ids of listed stores to `ids`; land records without a usable id, which validation rejects."""
        without_id: list[bytes] = []
        try:
            async with aclosing(client.list_stores()) as pages:
                async for page in pages:
                    for record in page:
                        id_ = listed_id(record, self.settings)
                        if id_ is not None:
                            ids.append(id_)
                        else:
                            without_id.append(record)
                    if len(without_id) > _WITHOUT_ID:
                        raise ListingBroken(
                            f"[partner.list_stores] more than {_WITHOUT_ID:,} records have no id at "
                            f"[partner.store] id_pointer {self.settings.partner.store.id_pointer!r}"
                        )
        finally:
            if without_id:
                with Load(self.settings, self.vault, "stores") as load:
                    for record in without_id:
                        load.validate(record)
                    self._count(load.commit())

    def _validate(self, load: Load, answer: FetchedBody, outcome: Outcome) -> None:
        self._note(answer, outcome)
        at, status = load.in_order(answer.fetched_at), answer.status
        if answer.age:  # it says what was so before a cache kept it, and replaces nothing that is newer
            at = answer.fetched_at - dt.timedelta(seconds=answer.age)
            self.result.aged += 1
        cost = FetchCost(answer.ms, answer.size, answer.tries, answer.earlier) if answer.tries else None
        if answer.code or status == 404:
            load.no_document(answer.id, answer.code or None, at, status, cost)
        else:
            load.validate(answer.body, answer.id, at, status, cost=cost)

    def _note(self, answer: FetchedBody, outcome: Outcome) -> None:
        outcome.add(answer)
        if answer.status != 200:
            return
        if self.kind == "orders" and answer.id not in self.known:
            self._count_store(answer.body)
        if self.kind == "stores":
            self.records.add(answer.body)
            named = set(menu_ids_of(answer.body, self.settings))
            if len(named) <= self.settings.landing.max_store_menus:  # else validation rejects the record
                self.menu_ids |= named
                self.result.store_of |= dict.fromkeys(named, answer.id)

    def _count_store(self, body: bytes) -> None:
        """Count the store that a new order names, unless it is an old order."""
        created, store = (raw_at(body, (name,)) for name in ("created_at", "store_id"))
        if store is None or (created is not None and bytes(created).strip(b'"') < self.recent.encode()):
            return
        if (text := bytes(store)).isdigit() and int(text) in INT64:
            self.result.named_stores[int(text)] += 1

    def _report(self, outcome: Outcome, refusals: list[Refusal]) -> None:
        """Update the work list after the load is committed, so that whatever it calls done is on the disk."""
        accepted, rejected = outcome.sorted_by_verdict(refusals)
        failed: dict[str, list[int]] = defaultdict(list)
        not_found = outcome.not_found
        for answer in outcome.failed:
            failed[answer.reason].append(answer.id)
        if self.check.is_exceeded(outcome, refusals):  # the service is at fault, or an address: it may pass
            for reason, ids in rejected.items():
                failed[reason] += ids
            failed["the service answers 404"] += [id_ for id_ in not_found if id_ in self.check.judged]
            not_found = [id_ for id_ in not_found if id_ not in self.check.judged]
            failed, rejected = {BAD_TOGETHER + reason: ids for reason, ids in failed.items()}, {}
        self.work.add("menus", sorted(self.menu_ids), why="store record", unless_done_since=self.since)
        self.work.done(self.kind, accepted)
        if self.kind == "stores":
            self.result.accepted.update(accepted)
        for reason, ids in rejected.items():
            self.work.rejected(self.kind, ids, reason, self.settings.planner.max_rejected_attempts)
        self.work.not_found(self.kind, not_found)
        for reason, ids in failed.items():
            self.work.failed(self.kind, ids, reason)


_FEWEST, _MAX_RATE = 2, 0.1  # of the stores: more that the list lacks make it doubtful
_CHECK = "check [partner.list_stores] and what the credentials may read"


def ingest_unlisted_stores(
    settings: Settings, session: PartnerSession, progress: Progress | None = None
) -> Ingested | None:
    """Fetch by their ids the stores that recent orders name and the list lacks, after a run has fetched both.

    The result says that the list of stores is doubtful: if a store is unknown, or if two and more than a tenth of the
    stores with orders come by their ids only, or of the stores that were fetched lately are not listed and have no
    orders. None without a whole list, or if it has every store.
    """
    since = utc_now() - RECENT
    listed = next((each.listed for each in session.ingested if each.listed is not None), None)
    if listed is None:
        return None
    named = Counter(stores_of_orders(settings.data_dir, since))
    for each in session.ingested:
        named.update(each.named_stores)
    with WorkList(inbox_path(settings.data_dir)) as work:
        lately = set(work.ids_in("stores", "done", since))
    unlisted, lost = named.keys() - listed, lately - listed - named.keys()
    if not unlisted and not lost:
        return None
    held = set(known_ids(settings.data_dir, "stores"))

    def request(work: WorkList) -> None:
        work.add("stores", sorted(unlisted), why="order")

    fetched = ingest(settings, "stores", progress, request, lists=False, session=session)
    came = fetched.accepted & unlisted
    unknown = unlisted - came - held
    if unknown or _are_many(came, len(named)):
        orders = sum(named[store] for store in unlisted)
        also = f"; {len(unknown):,} of these are unknown to the service" if unknown else ""
        fetched.shortfalls.append(
            f"{orders:,} orders name {len(unlisted):,} stores that the list does not have{also}: {_CHECK}"
        )
    if _are_many(lost, len(lately)):
        had = f"{len(lost):,} of {len(lately):,} stores that it had in the last {RECENT.days} days"
        fetched.shortfalls.append(f"the list lacks {had}: {_CHECK}")
    return fetched


def _are_many(stores: set[int], of: int) -> bool:
    return len(stores) >= _FEWEST and len(stores) > _MAX_RATE * of
