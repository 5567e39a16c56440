"""One load: bodies of one kind in, one pair of raw files out, whole or not at all.

The order of writing is vault, documents, observations (the load counts from here on), checksums, index; what a kill
leaves between any two of them is recovered when the next load of the kind opens.
"""

import datetime as dt
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import localcontext
from pathlib import Path
from typing import Any

from pipelines.clock import utc_now
from pipelines.inventory import note_files
from pipelines.landing import raw_folder, raw_rows
from pipelines.landing.customers import filing_rule, store_of
from pipelines.landing.exact import EXACT, InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.vault import Encrypted, PersonalData, Vault

_Writers = tuple[raw_rows.TableWriter, raw_rows.TableWriter]  # of documents and of observations
_BODIES_AT_ONCE = 1_000
_BYTES_AT_ONCE = 16 << 20


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from going through a batch again and again: nothing in one refers in a circle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Load(AbstractContextManager["Load"]):
    """A load of one kind under way: a context manager, whose `commit` ends it; nothing of it counts before that.

    Verdicts are given in batches. `is_backfill` marks what it observes as long past, so that nobody is alarmed by it.
    Raise LandingError when another load of the kind is under way.
    """

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        kind: str,
        source: raw_rows.Source = "live",
        *,
        is_backfill: bool = False,
        now: raw_folder.Now | None = None,
    ) -> None:
        if kind not in KINDS:
            raise raw_folder.LandingError(f"{kind!r} is not a kind of document: use one of {', '.join(KINDS)}")
        self.kind = kind
        self._now = now or utc_now
        self._data_dir, self._source, self._has_key = settings.data_dir, source, settings.privacy.customer_key
        self._is_backfill, self._vault = is_backfill, vault
        self._validator = Validator(settings, kind)
        self._rule = filing_rule(settings)
        self._waiting: list[raw_rows.Waiting] = []
        self._waiting_bytes = self._seq = 0
        self._counts = Counter(dict.fromkeys(raw_rows.VERDICTS, 0))
        self._refusals: list[raw_rows.Refusal] = []
        self._returned = 0
        self._writers: _Writers | None = None
        self._lock = raw_folder.Lock(self._data_dir / "raw" / f"{kind}.lock", kind)
        try:
            recover_killed_loads(self._data_dir, vault, kind)
            self._index = raw_folder.Index(self._data_dir, kind)
        except BaseException:
            self._lock.release()
            raise
        self._landed_live, last = self._index.last_live, raw_folder.time_of_load(self._index.last_load_id)
        # The machine's clock may be behind what was landed before.
        self._started_at = max(filter(None, (self._now(), self._landed_live, last and last + raw_folder.MICROSECOND)))
        self.load_id = raw_folder.load_id_at(self._started_at)
        self._last_live: dt.datetime | None = None

    def __exit__(self, *_: object) -> None:
        self.abort()

    def in_order(self, at: dt.datetime) -> dt.datetime:
        """Return a time at which the service answered; that of the last answer before it, where the clock is behind."""
        return at if self._landed_live is None else max(at, self._landed_live)

    def validate(
        self,
        body: bytes,
        requested_id: int | None = None,
        observed_at: dt.datetime | None = None,
        http_status: int | None = 200,
        *,
        source: raw_rows.Source | None = None,
        cost: raw_rows.FetchCost | None = None,
    ) -> None:
        """Take a body that was fetched for `requested_id` (None: nobody asked); its verdict comes with its batch.

        A live body without `observed_at` was observed now; an archive's without it, at an unknown time. `cost` is what
        asking for it took, where it was asked for.
        """
        source = source or self._source
        if observed_at is None and source == "live":
            observed_at = self.in_order(self._now())
        self._put(
            raw_rows.Waiting(self._seq, body, requested_id, observed_at, source, http_status, size=len(body), cost=cost)
        )

    def no_document(
        self,
        id: int,  # noqa: A002
        failure: str | None = None,
        observed_at: dt.datetime | None = None,
        http_status: int | None = None,
        cost: raw_rows.FetchCost | None = None,
    ) -> None:
        """Take note that the service has no document of this id, or gave no answer: `failure` is a short code then."""
        at = observed_at or self.in_order(self._now())
        self._put(raw_rows.Waiting(self._seq, None, id, at, self._source, http_status, failure, cost=cost))

    def commit(self) -> raw_rows.LoadSummary:
        """Write everything in the order that a kill cannot break, and say what became of it."""
        self._flush()
        if self._writers is not None:
            self._vault.sync()
            for writer in self._writers:
                writer.finish()
            self._writers = None
            note_files(self._data_dir, raw_folder.pair(self._data_dir, self.kind, self.load_id))
            self._index.commit(self.load_id, self._last_live)
            self._vault.finish(self.load_id)
        self.abort()
        return raw_rows.LoadSummary(self.load_id, self.kind, dict(self._counts), self._refusals, self._returned)

    def abort(self) -> None:
        """Leave no trace of uncommitted documents; after `commit` this does nothing."""
        try:
            if self._writers is not None:
                writers, self._writers = self._writers, None
                for writer in writers:
                    writer.abandon()
                documents, observations = raw_folder.pair(self._data_dir, self.kind, self.load_id)
                if not observations.exists():
                    documents.unlink(missing_ok=True)
                    self._vault.undo(self.load_id)
        finally:  # also on a full disk: the next load of this process recovers the rest
            self._index.close()
            self._lock.release()

    def _put(self, waiting: raw_rows.Waiting) -> None:
        self._waiting.append(waiting)
        if waiting.source == "live" and waiting.observed_at is not None:
            self._last_live = max(waiting.observed_at, self._last_live or waiting.observed_at)
        self._seq += 1
        self._waiting_bytes += waiting.size
        if len(self._waiting) >= _BODIES_AT_ONCE or self._waiting_bytes >= _BYTES_AT_ONCE:
            self._flush()

    @no_collection()
    def _flush(self) -> None:
        batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not batch:
            return
        if self._writers is None:
            self._writers = self._begin()
        self._validate(batch)
        sealings = []
        for item in batch:
            if (each := item.document) is not None:
                country = self._rule.of_store(store_of(each.document)) if each.phone else ""
                sealings.append(PersonalData(each.id, item.seq, each.phone, each.email, each.content, country))
        encrypted = self._vault.encrypt(self.kind, self.load_id, sealings)
        bodies = [(item.refusal.id, item.body or b"") for item in batch if item.refusal is not None]
        refs = self._vault.refused.encrypt(self.kind, self.load_id, bodies, utc_now()) if bodies else []
        self._write(batch, self._writers, iter(encrypted), iter(refs))

    def _begin(self) -> _Writers:
        self._vault.begin(self.load_id, self.kind)
        documents, observations = raw_folder.pair(self._data_dir, self.kind, self.load_id)
        of_documents = raw_rows.TableWriter(documents, raw_rows.documents_schema(self.kind))
        return of_documents, raw_rows.TableWriter(observations, raw_rows.OBSERVATIONS)

    def _validate(self, batch: list[raw_rows.Waiting]) -> None:
        """Give each item that has a body its document, or its refusal."""
        validate = self._validator.validate
        with localcontext(EXACT):
            for item in batch:
                if item.body is None:
                    continue
                try:
                    item.document = validate(item.body, item.requested_id)
                except InvalidDocumentError as error:
                    id_ = self._validator.own_id(item.body) if item.requested_id is None else item.requested_id
                    item.refusal = raw_rows.Refusal(id_, error.code, error.pointer, item.seq)

    def _write(
        self, batch: list[raw_rows.Waiting], writers: _Writers, encrypted: Iterator[Encrypted], refs: Iterator[str]
    ) -> None:
        """Write the rows of a batch; `encrypted` has one for each of its documents, `refs` for each refusal."""
        known = self._index.latest(item.document.id for item in batch if item.document is not None)
        documents: list[tuple[Any, ...]] = []
        observations: list[tuple[Any, ...]] = []
        of_load = (self.kind, self.load_id, self._is_backfill, self._started_at)
        places: list[tuple[int, raw_folder.Seen]] = []
        load_id = self.load_id
        for item in batch:
            if (document := item.document) is not None:
                rank = raw_folder.rank(item.observed_at, item.source, load_id, item.seq)
                own = raw_folder.Seen(document.sha256, rank)
                verdict, is_new = raw_rows.place(known, document.id, own)
                personal = next(encrypted)
                is_current = known[document.id][-1].sha256 == document.sha256
                self._returned += verdict == "accepted" and not is_new and is_current and item.source == "live"
                if is_new:
                    documents.append(raw_rows.document_row(document, load_id, item.size, is_erased=personal.is_erased))
                places.append((document.id, own))
                key = personal.customer_key if self._has_key else None
                sha256, changed = document.sha256.hex(), personal.changed
                row = raw_rows.observation_row(
                    item, document.id, verdict, of_load, sha256=sha256, customer_key=key, changed=changed
                )
            elif (refusal := item.refusal) is not None:
                verdict = "quarantined"
                reason, pointer, ref = refusal.reason, refusal.pointer, next(refs)
                row = raw_rows.observation_row(
                    item, refusal.id, verdict, of_load, reason=reason, pointer=pointer, refused_ref=ref
                )
                self._refusals.append(refusal)
            else:
                verdict = raw_rows.FAILED if item.failure is not None else "missing"
                row = raw_rows.observation_row(item, item.requested_id, verdict, of_load, reason=item.failure)
                if item.failure is not None:
                    self._refusals.append(raw_rows.Refusal(item.requested_id, item.failure, None))
            observations.append(row)
            self._counts[verdict] += 1
        writers[0].add(documents)
        writers[1].add(observations)
        self._index.add(places)


def recover_killed_loads(data_dir: Path, vault: Vault, kind: str) -> None:
    """Undo or finish what killed loads of a kind left in the vault and the raw files. Needs the kind's lock."""
    if open_loads := vault.open_loads(kind):
        committed = set(raw_folder.raw_files(data_dir, kind).load_ids)
        for load_id in open_loads:
            (vault.finish if load_id in committed else vault.undo)(load_id)
    raw_folder.sweep(data_dir, kind)
