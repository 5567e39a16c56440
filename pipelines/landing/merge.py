"""Write raw files again: merge the small ones of past days and months, and erase orders in them.

The new pair is written first, then the manifest is switched, then the old files go: whatever is killed when, each load
is read exactly once. Erased are plaintext fields of documents, which keep the hash that they were landed with and are
marked, and the keys of customers in observations; orders that another customer proves to be of get that one's key.
"""

import datetime as dt
import hashlib
import secrets
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.inventory import note_files
from pipelines.landing import raw_folder
from pipelines.landing.raw_rows import OBSERVATIONS, TableWriter, documents_schema
from pipelines.landing.unknown_fields import without_plaintext

_Change = Callable[[pa.Table], pa.Table]
_MOST_BYTES = 64 * 2**20  # of a pair that holds more than a day: an erasure writes the pairs of an order again


def merge_days(data_dir: Path, kind: str, before: dt.date, most_bytes: int = _MOST_BYTES) -> int:
    """Merge the pairs of each day (UTC) before a given one; return how many pairs were merged away.

    Pairs of a month before that day's are merged across days, up to `most_bytes` together. Raise LandingError when a
    load of the kind is under way, RawDamageError when a file is not what was landed: its damage would be merged.
    """
    if not raw_folder.folder(data_dir, "observations", kind).is_dir():
        return 0
    gone = 0
    with raw_folder.Lock(data_dir / "raw" / f"{kind}.lock", kind):
        raw_folder.sweep(data_dir, kind)
        files = raw_folder.raw_files(data_dir, kind)
        pairs = list(zip(files.documents, files.observations, strict=True))
        for together in _groups(pairs, before, most_bytes):
            if len(together) > 1:
                rewrite(data_dir, kind, together)
                gone += len(together)
        raw_folder.sweep(data_dir, kind)
    return gone


def _groups(
    pairs: list[tuple[raw_folder.RawFile, raw_folder.RawFile]], before: dt.date, most_bytes: int
) -> Iterator[list[tuple[raw_folder.RawFile, raw_folder.RawFile]]]:
    """Yield the pairs that become one: those of a past day, in a past month also neighbours that are small together."""
    together: list[tuple[raw_folder.RawFile, raw_folder.RawFile]] = []
    held = 0
    for day, group in groupby(pairs, key=lambda each: each[0].load_ids[0][:8]):
        if day >= f"{before:%Y%m%d}":
            break
        of_day = list(group)
        size = sum(file.path.stat().st_size for each in of_day for file in each if file.path.exists())
        month = together[0][0].load_ids[0][:6] if together else ""
        if not (month == day[:6] < f"{before:%Y%m}" and held + size <= most_bytes):
            yield together
            together, held = [], 0
        together += of_day
        held += size
    yield together


def rewrite(
    data_dir: Path,
    kind: str,
    pairs: list[tuple[raw_folder.RawFile, raw_folder.RawFile]],
    of_documents: _Change = lambda rows: rows,
    of_observations: _Change = lambda rows: rows,
) -> None:
    """Write neighbouring pairs as one, changed by these functions, and switch the manifest to it.

    The caller holds the kind's lock, and sweeps. Raise RawDamageError when a file is not what was landed.
    """
    name = f"merged-{pairs[0][0].load_ids[0][:8]}-{secrets.token_hex(3)}"
    load_ids = tuple(load_id for documents, _ in pairs for load_id in documents.load_ids)
    documents, observations = raw_folder.pair(data_dir, kind, name)
    raw_folder.check_files(data_dir, [file.path for each in pairs for file in each])
    parts = (
        (documents, documents_schema(kind), [each[0].path for each in pairs], of_documents),
        (observations, OBSERVATIONS, [each[1].path for each in pairs], of_observations),
    )
    for target, schema, sources, changed in parts:
        with TableWriter(target, schema, load_ids=load_ids) as writer:
            for source in filter(Path.exists, sources):  # documents whose loss was accepted are not there
                with pq.ParquetFile(source) as file:
                    for group in range(file.num_row_groups):
                        writer.add_table(changed(file.read_row_group(group)))
            writer.finish()
    before = raw_folder.read_manifest(data_dir, kind).merged
    kept = [each for each in before if not set(each.load_ids) & set(load_ids)]
    raw_folder.write_manifest(data_dir, kind, raw_folder.MergedLoads((*kept, raw_folder.Merged(name, load_ids))))
    note_files(data_dir, (documents, observations))


def erase_in_raw(data_dir: Path, order_ids: Collection[int], key_hashes: Collection[str]) -> int:
    """Rewrite the raw files that hold anything of these orders, or of customers by the hash of their key.

    Return how many pairs. Plaintext fields and keys of customers go; documents that lose any are marked.
    """
    ids = pa.array(sorted(order_ids), pa.int64())

    def documents(table: pa.Table) -> pa.Table:
        mine = pc.is_in(table.column("id"), value_set=ids).to_pylist()
        if not any(mine):
            return table
        texts = table.column("document").to_pylist()
        erased = [without_plaintext(t.encode()).decode() if own else t for own, t in zip(mine, texts, strict=True)]
        table = _with(table, "document", pa.array(erased, pa.string()))
        marks = table.column("is_erased").to_pylist() if "is_erased" in table.column_names else [None] * table.num_rows
        return _with(table, "is_erased", pa.array([own or mark for own, mark in zip(mine, marks, strict=True)]))

    def observations(table: pa.Table) -> pa.Table:
        held = table.column("customer_key")
        keys = [k for k in pc.unique(held).to_pylist() if k and hashlib.sha256(k.encode()).hexdigest() in key_hashes]
        own = pc.is_in(held, value_set=pa.array(keys, pa.string()))
        gone = pc.or_(own, pc.is_in(table.column("id"), value_set=ids))
        return _with(table, "customer_key", pc.if_else(gone, pa.scalar(None, pa.string()), held))

    return _change_orders(data_dir, ids, documents, observations)


def rekey_in_raw(data_dir: Path, moved: dict[int, list[tuple[tuple[str, int], str]]]) -> int:
    """Give observations the key of their order's customer, by place of each version; return the rewritten pairs."""

    def observations(table: pa.Table) -> pa.Table:
        columns = (table.column(name).to_pylist() for name in ("id", "customer_key", "load_id", "seq"))
        keys = []
        for id_, key, *place in zip(*columns, strict=True):
            versions = moved.get(id_) if key is not None else None
            at = bisect_right(versions, tuple(place), key=itemgetter(0)) if versions else 0
            keys.append(versions[max(at - 1, 0)][1] if versions else key)
        return _with(table, "customer_key", pa.array(keys, pa.string()))

    return _change_orders(data_dir, pa.array([], pa.int64()), lambda rows: rows, observations)


def _with(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    at = table.column_names.index(name) if name in table.column_names else -1
    return table.append_column(name, column) if at < 0 else table.set_column(at, name, column)


def _change_orders(data_dir: Path, ids: pa.Array, of_documents: _Change, of_observations: _Change) -> int:
    """Rewrite the raw files of orders in which these functions change a row, of documents one of these ids.

    Return how many pairs. Doing it again rewrites nothing. Raise LandingError when a load of orders is under way,
    RawDamageError when a file that would be rewritten is damaged.
    """
    if not raw_folder.folder(data_dir, "observations", "orders").is_dir():
        return 0
    rewritten = 0
    with raw_folder.Lock(data_dir / "raw" / "orders.lock", "orders"):
        raw_folder.sweep(data_dir, "orders")
        files = raw_folder.raw_files(data_dir, "orders")
        for both in zip(files.documents, files.observations, strict=True):
            if _is_concerned(of_documents, both[0].path, ["id", "document"], ids) or _is_concerned(
                of_observations, both[1].path, ["id", "customer_key", "load_id", "seq"]
            ):
                rewrite(data_dir, "orders", [both], of_documents, of_observations)
                rewritten += 1
        if rewritten:
            raw_folder.sweep(data_dir, "orders")
    return rewritten


def _is_concerned(changed: _Change, path: Path, columns: list[str], ids: pa.Array | None = None) -> bool:
    """Tell whether a change makes another of these columns of a file, if it is there, in groups with any of the ids."""
    if not path.exists():
        return False
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            found = None if ids is None else pc.is_in(file.read_row_group(group, columns=["id"])["id"], value_set=ids)
            if found is not None and not pc.any(found).as_py():
                continue
            table = file.read_row_group(group, columns=columns)
            after = changed(table)
            if any(after.column(name) != table.column(name) for name in columns):
                return True
    return False
