"""An accepted document, the verdict of a load on each body, and the two raw tables of a kind with a writer of them."""

import datetime as dt
from array import array
from collections.abc import Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.durable import make_folder, put_in_place, unfinished
from pipelines.landing.shape import COUNTS, SUMS
from pipelines.landing.unknown_fields import without_plaintext

if TYPE_CHECKING:
    from pipelines.landing.raw_folder import Seen


EMPTY = b"{}"


class ValidatedDocument(msgspec.Struct, gc=False):
    """An accepted document, known by `sha256` of its bytes: without personal data, what to encrypt, counts and sums."""

    id: int
    document: bytes
    sha256: bytes
    content: bytes  # a JSON object, pointer → value, for the vault
    phone: str | None
    email: str | None
    missing_fields: list[str]
    rounded_count: int
    counts: tuple[int, ...]
    sums: tuple[Decimal, ...]


Source = Literal["live", "archive"]
VERDICTS = ("accepted", "unchanged", "quarantined", "missing")  # of the service's answers
FAILED = "failed"  # no usable answer


class Refusal(NamedTuple):
    """A rejected body: its id, the reason, and where in it; never a value. `seq` counts the load's bodies from 0."""

    id: int | None
    reason: str
    pointer: str | None
    seq: int | None = None
    file: str = ""  # that it came from, with its number there


class FetchCost(NamedTuple):
    """The cost of an id: ms of the last attempt, bytes, requests; `earlier` attempts: HTTP status, code, ms, bytes."""

    ms: int
    bytes: int
    tries: int
    earlier: tuple[tuple[int | None, str, int, int], ...] = ()


class LoadSummary(NamedTuple):
    """The outcome of a load: counts of verdicts; `returned` accepted ones came before, and another one since."""

    load_id: str
    kind: str
    counts: dict[str, int]
    quarantined: list[Refusal]
    returned: int = 0


class Waiting(msgspec.Struct, gc=False):
    """A body, or a missing one, without a verdict yet; validation gives a body its document, or its refusal."""

    seq: int
    body: bytes | None  # None: the service has no such document
    requested_id: int | None
    observed_at: dt.datetime | None
    source: str
    http_status: int | None
    failure: str | None = None
    document: ValidatedDocument | None = None
    size: int = 0  # of the body, in bytes
    cost: FetchCost | None = None  # None: it was not fetched
    refusal: Refusal | None = None


def place(known: "dict[int, list[Seen]]", id_: int, own: "Seen") -> tuple[str, bool]:
    """Put an observation among those of its id, the latest last; return its verdict, and if its document is new."""
    if (seen := known.get(id_)) is None:
        known[id_] = [own]
        return "accepted", True
    verdict = "unchanged" if seen[-1].sha256 == own.sha256 else "accepted"
    before = next((each for each in seen if each.sha256 == own.sha256), None)
    if before is None or before.rank < own.rank:
        if before is not None:
            seen.remove(before)
        seen.append(own)
        seen.sort(key=lambda each: each.rank)
    return verdict, before is None


_TEXTS = pa.list_(pa.field("element", pa.string()))
_TRY = pa.struct([("http_status", pa.int32()), ("reason", pa.string()), ("ms", pa.int64()), ("bytes", pa.int64())])
_SUM = pa.decimal128(38, 4)
_ROWS_AT_ONCE = 8192
_BYTES_AT_ONCE = 32 << 20
LOAD_IDS = "ordermart_load_ids"  # in the footer of a merged file: which loads it holds
COMPRESSION = {"compression": "zstd", "compression_level": 1}
# Columns whose values come again and again.
_REPEATED = frozenset("kind source verdict load_id reason pointer http_status absences changed_personal tries".split())

OBSERVATIONS = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("id", pa.int64()),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("observed_at", pa.timestamp("us", tz="UTC")),
        pa.field("source", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("sha256", pa.string()),
        pa.field("http_status", pa.int32()),
        pa.field("load_id", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("pointer", pa.string()),
        pa.field("customer_key", pa.string()),
        pa.field("changed_personal", _TEXTS),
        pa.field("refused_ref", pa.string()),
        # the cost of fetching; null for archives and reprocessed bodies, which were not fetched
        pa.field("ms", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("tries", pa.int32()),
        pa.field("earlier_tries", pa.list_(pa.field("element", _TRY))),
        pa.field("is_backfill", pa.bool_()),
        pa.field("load_started_at", pa.timestamp("us", tz="UTC")),
    ]
)


def documents_schema(kind: str) -> pa.Schema:
    """Return the columns of `raw/documents/<kind>/`."""
    return pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("sha256", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("load_id", pa.string(), nullable=False),
            pa.field("bytes", pa.int32(), nullable=False),
            pa.field("absences", _TEXTS, nullable=False),
            pa.field("rounded", pa.int32(), nullable=False),
            pa.field("has_unknown", pa.bool_()),  # fields that are not documented; null: landed before this was noted
            # erased on request: plaintext fields were removed, and sha256 is still that of the whole document
            pa.field("is_erased", pa.bool_()),
            *(pa.field(name, pa.int32(), nullable=False) for name in COUNTS[kind]),
            *(pa.field(name, _SUM, nullable=False) for name in SUMS[kind]),
        ]
    )


class TableWriter(AbstractContextManager["TableWriter"]):
    """Writes a Parquet file under its temporary name until `finish`; as a context manager leaves nothing on errors."""

    def __init__(self, path: Path, schema: pa.Schema, *, load_ids: tuple[str, ...] = ()) -> None:
        make_folder(path.parent)
        self._path, self._schema = path, schema
        self._parts: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        dictionary = [f.name for f in schema if f.name in _REPEATED]
        self._file = pq.ParquetWriter(unfinished(path), schema, use_dictionary=dictionary, **COMPRESSION)
        if load_ids:
            self._file.add_key_value_metadata({LOAD_IDS: ",".join(load_ids)})

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.abandon()

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        """Add rows, their values in the schema's order."""
        if not rows:
            return
        arrays = [
            _texts(each) if field.name == "document" else pa.array(each, field.type)
            for each, field in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        self._keep(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def add_table(self, table: pa.Table) -> None:
        """Add rows that were read from a file of the same columns."""
        for field in self._schema:  # a file from before a column was added
            if field.name not in table.column_names and field.nullable:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        for batch in table.select(self._schema.names).cast(self._schema).to_batches():
            self._keep(batch)

    def _keep(self, part: pa.RecordBatch) -> None:
        self._parts.append(part)
        self._rows += part.num_rows
        self._bytes += part.nbytes
        if self._rows >= _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self._write()

    def finish(self) -> None:
        """Write the rest and put the file in its place."""
        self._write()
        self._file.close()
        put_in_place(self._path)

    def abandon(self) -> None:
        """Leave nothing behind."""
        try:
            self._file.close()
        except OSError:  # it cannot be finished either; nobody reads it
            pass
        finally:
            unfinished(self._path).unlink(missing_ok=True)

    def _write(self) -> None:
        if self._parts:
            self._file.write_table(pa.Table.from_batches(self._parts, self._schema))
        self._parts, self._rows, self._bytes = [], 0, 0


def _texts(documents: Sequence[bytes]) -> pa.Array:
    """Return UTF-8 texts as a column, without decoding each only to encode it again."""
    offsets = array("i", accumulate(map(len, documents), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(documents))]
    return pa.Array.from_buffers(pa.string(), len(documents), buffers)


def document_row(validated: ValidatedDocument, load_id: str, size: int, *, is_erased: bool) -> tuple[Any, ...]:
    """Return the row of a document, without plaintext fields if erased; `size` is its bytes as received."""
    document = without_plaintext(validated.document) if is_erased else validated.document
    has_unknown = b'"_unknown":' in validated.document
    head = (validated.id, validated.sha256.hex(), document, load_id, size)
    noted = (validated.missing_fields, validated.rounded_count, has_unknown, is_erased)
    return (*head, *noted, *validated.counts, *validated.sums)


def observation_row(
    item: Waiting,
    id_: int | None,
    verdict: str,
    load: tuple[str, str, bool, dt.datetime],
    *,
    sha256: str | None = None,
    reason: str | None = None,
    pointer: str | None = None,
    customer_key: str | None = None,
    changed: Sequence[str] = (),
    refused_ref: str | None = None,
) -> tuple[Any, ...]:
    """Return the row of a body with its verdict, or of an id without one; `load` is kind, id, is_backfill, start."""
    kind, load_id, is_backfill, started_at = load
    row = (kind, id_, item.seq, item.observed_at, item.source, verdict, sha256, item.http_status)
    why = (load_id, reason, pointer, customer_key, changed, refused_ref)
    took: tuple[Any, ...] = (None, None, None, None)
    if (cost := item.cost) is not None:
        earlier = [dict(zip((field.name for field in _TRY), each, strict=True)) for each in cost.earlier] or None
        took = (cost.ms, cost.bytes, cost.tries, earlier)
    return (*row, *why, *took, is_backfill, started_at)
