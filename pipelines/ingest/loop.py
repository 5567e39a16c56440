"""Fetch the due ids of the work list and land them, load by load; a kill loses only the requests in flight.

A body goes from the client to validation; until its load is committed an encrypted copy is in the vault's spool, from
which the next run recovers it.

Ids that a run was asked for, and known orders that are due again, come onto the work list before. A partner service
that moved to another address is followed only if that address has the documents that are held.
"""

import asyncio
import datetime as dt
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pipelines.clock import utc_now
from pipelines.inbox import planner
from pipelines.inbox.store import BAD_TOGETHER, EPOCH, INT64, inbox_path
from pipelines.inbox.worklist import FAILED_FOR, GAP_PROBE, WorkList
from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.lock import run_lock
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
from pipelines.landing.data_folder import guard_source, keep_behaviour, note_source, source_of
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import raw_files, read_rows
from pipelines.landing.raw_rows import FetchCost, LoadSummary, Refusal
from pipelines.landing.validate import Validator
from pipelines.ledger.entries import User
from pipelines.ledger.signed_head import signing_ledger
from pipelines.literals import encoding_of
from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import ListingBroken, RunStopped
from pipelines.partner.pointer import raw_at
from pipelines.settings import Settings, SettingsError
from pipelines.settings.kinds import KINDS, Kind
from pipelines.vault import FetchedBody, Spool, Vault, open_spool, open_vault
from pipelines.warehouse.building.build import (
    known_among,
    known_ids,
    known_orders,
    never_found,
    newest_documents,
    stores_of_orders,
)

Progress = Callable[[str, int, int], None]


def plan_orders(settings: Settings, work: WorkList, now: datetime | None = None) -> planner.Plan:
    """Add the known orders that are due again, within [planner] request_budget; return the plan."""
    now = now or utc_now()
    planned = planner.plan(known_orders(settings.data_dir), now, settings.planner)
    planner.add_plan(work, planned)
    if settings.planner.gap_probe:
        known_ids = (known.id for known in known_orders(settings.data_dir))
        gap = planner.gap_ids(known_ids, never_found(settings.data_dir), settings.planner.gap_budget)
        work.add("orders", gap, GAP_PROBE)
    return planned


def report_sample(settings: Settings, work: WorkList, sample: Collection[int], loads: Sequence[str]) -> list[str]:
    """Return a sentence on how many sampled orders had changed in these loads; none if none was answered.

    A sampled order that something else requested too, such as a webhook, is not a missed change.
    """
    verdicts = dict(read_rows(settings.data_dir, "orders", "observations", ("id", "verdict"), loads))
    answered = [id_ for id_ in sample if verdicts.get(id_) in ("accepted", "unchanged")]
    entries = [work.entry("orders", id_) for id_ in answered if verdicts[id_] == "accepted"]
    changed = sum(entry is None or entry.why == {planner.SAMPLE} for entry in entries)
    text = f"Sample: {changed:,} of {len(answered):,} old orders had changed without a notification."
    return [text] if answered else []


_LARGEST_ID = 2**63 - 1


def ids_of_file(path: Path) -> Iterator[int]:
    """Yield the ids of a file, one a line, without blank and # lines; raise SettingsError for anything else."""
    try:
        with path.open("rb") as file:
            encoding = encoding_of(file.read(4))
        with path.open(encoding=encoding, errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LARGEST_ID):
                    raise SettingsError(f"{path.name}, line {number}: not a valid id; use one integer per line")
                yield int(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def ids_of_range(text: str) -> range:
    """Return the ids of a range written A-B, both included; raise SettingsError for anything else."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last) <= _LARGEST_ID):
        raise SettingsError(f"--order-id-range: {text!r} is not a valid range; use A-B (inclusive), e.g. 100-200")
    return range(int(first), int(last) + 1)


def add_requested(
    work: WorkList,
    *,
    order_ids_file: str = "",
    order_id_range: str = "",
    menu_ids_file: str = "",
    unless_done_since: datetime | None = None,
) -> None:
    """Add the requested ids to the work list, each with the reason for the request.

    `unless_done_since` leaves out what was fetched since then, so that a repeated request resumes a killed run.
    """
    since = unless_done_since
    # Lists, not iterators: a file with an invalid line adds nothing.
    if order_ids_file:
        work.add("orders", list(ids_of_file(Path(order_ids_file))), why="order-ids file", unless_done_since=since)
    if order_id_range:
        work.add("orders", ids_of_range(order_id_range), why="order-id range", unless_done_since=since)
    if menu_ids_file:
        work.add("menus", list(ids_of_file(Path(menu_ids_file))), why="menu-ids file", unless_done_since=since)


Held = tuple[int | None, dt.datetime | None] | None  # store and creation of an order; None for other kinds
MOVED = "source_moved"
_ASKED = 10  # documents of each kind
_OK = 200


class SourceError(Exception):
    """The new address does not have the documents that are held; nothing was changed."""


@dataclass(frozen=True)
class Moved:
    """How many documents the new address has as they are held, and how many the old one still answers."""

    held: int
    at_new: int
    at_old: int


def move_source(settings: Settings, old: str, new: str, user: User) -> Moved:
    """Note `new` as the address of the landed data, which came from `old`; record it in the ledger.

    The newest documents of each kind are requested at both addresses. What never changes of them (an order's store and
    creation, a menu's or store's id) must be at the new one as it is held, for all of them. Raise SourceError if it is
    not, SettingsError if the settings or the data folder name other addresses.
    """
    old, new = old.rstrip("/"), new.rstrip("/")
    if settings.partner.base_url.rstrip("/") != new:
        raise SettingsError(f"[partner] base_url is {settings.partner.base_url}: set it to {new} first")
    with run_lock(settings.data_dir, "ordermart source move"):
        if (known := source_of(settings.data_dir)) != old:
            raise SettingsError(f"{settings.data_dir} holds data of {known or 'no service yet'}, not of {old}")
        held = {kind: newest_documents(settings.data_dir, kind, _ASKED) for kind in KINDS}
        if not (count := sum(map(len, held.values()))):
            raise SourceError(f"{settings.data_dir} has no built documents to compare: run `ordermart build` first")
        if (at_new := _same(settings, new, held)) < count:
            raise SourceError(f"{new} has {at_new} of {count} documents as they are held: it is not the same service")
        at_old = _same(settings, old, held)
        done = Moved(count, at_new, at_old)
        figures = {"held": done.held, "at_new": done.at_new, "at_old": done.at_old}
        signing_ledger(settings).append(MOVED, {"old": old, "new": new, **figures, **user.body})
        note_source(settings.data_dir, new)
        return done


def _same(settings: Settings, base_url: str, held: dict[Kind, dict[int, Held]]) -> int:
    """Return how many documents an address answers as they are held; 0 if it answers none."""
    partner = replace(settings.partner, base_url=base_url, max_attempts=2, outage_timeout_seconds=10.0)
    asked = replace(settings, partner=partner)

    async def ask(client: PartnerClient) -> int:
        same = 0
        for kind, documents in held.items():
            for id_, then in documents.items():
                fetched = await client.fetch(kind, id_)
                same += fetched.status == _OK and _has(settings, kind, id_, fetched.body, then)
        return same

    try:
        with PartnerSession(asked) as session:
            return session.run(ask)
    except RunStopped:
        return 0


def _has(settings: Settings, kind: Kind, id_: int, body: bytes, held: Held) -> bool:
    """Tell whether a body is a valid document of this id, and of an order also its store and creation."""
    try:
        document = msgspec.json.decode(Validator(settings, kind).validate(body, id_).document)
    except InvalidDocumentError:
        return False
    if held is None:
        return True
    created = document.get("created_at")
    return (document.get("store_id"), created and dt.datetime.fromisoformat(created)) == held


__all__ = ["Ingested", "SuspectBaseUrlError", "ingest"]

_LOAD = 2_000  # bodies per load
BEFORE_ORDERS = 1_000  # requests for stores, and for menus; for the others after the orders
_MOST_MISSING = 100  # menus of a store more than it has, before its others wait
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
    most: int | None = None,
    is_rest: bool = False,
) -> Ingested:
    """Fetch and land everything of one kind that is due, or `most` of it; `progress` gets (kind, done, total).

    `request` adds further ids to the work list, after the responses of a killed run were recovered. With `lists`, the
    service's list of stores is added too, or the known stores if there is no usable list. Menus that store records name
    are put on the work list. `session` is shared by the kinds of a run. What was fetched `since` then, by a killed run
    that this one resumes, is not requested again; nor, with `is_rest`, what `session` has requested. The result says
    which miss, and whether the service, or the doubt about its address, stopped it.
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
        for before in session.ingested if is_rest else ():
            if before.kind == kind:
                ingestion.result.asked |= before.asked
                ingestion.result.missing += before.missing
        session.ingested.append(ingestion.result)
        ingestion.recover()
        if request is not None:
            request(work)
        session.run(lambda client: ingestion.run(client, lists=lists, most=most))
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
        self.check = AnswerCheck(self.settings, self.kind)
        self.records = StoreRecords(self.settings)
        self.known: set[int] = set()
        self.recent = f"{utc_now() - RECENT:%Y-%m-%d}"

    async def run(self, client: PartnerClient, *, lists: bool, most: int | None) -> None:
        try:
            if self.kind == "stores" and lists:
                await self._list_stores(client)
            due = self.work.due(self.kind)
            if due and set(due) <= set(self.work.failing(self.kind)):
                # First ids that were answered last time: they distinguish failing ids from a failing service.
                self.work.add(self.kind, self.work.latest(self.kind, _OTHERS), why="comparison", due_at=EPOCH)
                due = self.work.due(self.kind)
            due = [id_ for id_ in due if id_ not in self.result.asked]
            self.result.due = len(due)
            if most is not None and len(due) > most:
                self.result.waiting = len(due) - most
                turns: defaultdict[int, Iterator[int]] = defaultdict(lambda: itertools.count(1))
                # one menu of each store in turn, so that no store's many come before all of another's
                due.sort(key=lambda id_: next(turns[self.store_of[id_]]) if id_ in self.store_of else 0)
                due = due[:most]
            self.known = known_among(self.settings.data_dir, self.kind, due)
            representative, before = self.work.representative_due_ids(self.kind), self.work.bad_before(self.kind)
            self.check = AnswerCheck(self.settings, self.kind, self.known, representative, before)
            for first in range(0, len(due), _LOAD):
                try:
                    await self._land(client, due[first : first + _LOAD], len(due))
                finally:
                    keep_behaviour(self.settings.data_dir, client.behaviour.take())
        except (RunStopped, SuspectBaseUrlError) as error:
            self.result.stopped, self.result.waiting = error, 0
            self.result.shortfalls.append(str(error))
        self.result.shortfalls += self.check.sentences()
        if unfetched := self.work.unfetched(self.kind):
            (number, why), count = unfetched[0], sum(number for number, _ in unfetched)
            late = f"{count:,} {self.kind} could not be fetched for longer than two nights, {number:,} of them because"
            later = f"{FAILED_FOR.days} days after the first try they wait for `ordermart retry`"
            self.result.shortfalls.append(f"{late} {why}; {later}")
        if hopeless := sum(missing >= _MOST_MISSING for missing in self.result.missing.values()):
            self.result.shortfalls.append(
                f"{hopeless:,} stores name menus of which the service lacks {_MOST_MISSING} more than it has; their "
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
                missing = self.result.missing
                asked = (id_ for id_ in ids if missing[self.store_of.get(id_, -1)] < _MOST_MISSING)
                async with aclosing(fetch_all(client, self.kind, asked)) as answers:
                    async for fetched in answers:
                        answer = answer_of(fetched)
                        self.result.asked.add(answer.id)
                        if (store := self.store_of.get(answer.id)) is not None and missing[store] < _MOST_MISSING:
                            missing[store] = max(0, missing[store] + (1 if answer.status == 404 else -1))
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
        if (left := self.spool.left()) is None:
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
                        if (id_ := listed_id(record, self.settings)) is not None:
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
            failed[answer.message].append(answer.id)
        if self.check.is_exceeded(outcome, refusals):  # the service is at fault, or an address: it may pass
            for reason, ids in rejected.items():
                failed[reason] += ids
            failed["the service answers 404"] += [id_ for id_ in not_found if id_ in self.check.representative]
            not_found = [id_ for id_ in not_found if id_ not in self.check.representative]
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
        stores = f"{len(unlisted):,} stores that the list does not have"
        fetched.shortfalls.append(f"{orders:,} orders name {stores}{also}: {_CHECK}")
    if _are_many(lost, len(lately)):
        had = f"{len(lost):,} of {len(lately):,} stores that it had in the last {RECENT.days} days"
        fetched.shortfalls.append(f"the list lacks {had}: {_CHECK}")
    return fetched


def _are_many(stores: set[int], of: int) -> bool:
    return len(stores) >= _FEWEST and len(stores) > _MAX_RATE * of
