"""Merge the small files of past days into one pair a day, and those of past months; content and order stay the same.

The merged pair is written first, then the manifest is switched, then the small files go: whatever is killed when, each
load is read exactly once.
"""

from __future__ import annotations

import secrets
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from pipelines.inventory import note_files
from pipelines.landing.checksums import check_files, noted_files
from pipelines.landing.lock import Lock
from pipelines.landing.raw_files import (
    Manifest,
    Merged,
    folder,
    pair,
    raw_files,
    read_manifest,
    sweep,
    write_manifest,
)
from pipelines.landing.tables import OBSERVATIONS, TableWriter, documents_schema

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from pipelines.landing.raw_files import RawFile


_MOST_BYTES = 64 * 2**20  # of a pair that holds more than a day: an erasure writes the pairs of an order again


def merge_days(data_dir: Path, kind: str, before: dt.date, most_bytes: int = _MOST_BYTES) -> int:
    """Merge the pairs of each day (UTC) before a given one; return how many pairs were merged away.

    Pairs of a month before that day's are merged across days, up to `most_bytes` together. Raise LandingError when a
    load of the kind is under way, RawDamageError when a file is not what was landed: its damage would be merged.
    """
    if not folder(data_dir, "observations", kind).is_dir():
        return 0
    gone = 0
    with Lock(data_dir / "raw" / f"{kind}.lock", kind):
        sweep(data_dir, kind, noted_files(data_dir))
        files = raw_files(data_dir, kind)
        pairs = list(zip(files.documents, files.observations, strict=True))
        for together in _groups(pairs, before, most_bytes):
            if len(together) > 1:
                rewrite(data_dir, kind, together, _same, _same)
                gone += len(together)
        sweep(data_dir, kind, noted_files(data_dir))
    return gone


def _groups(
    pairs: list[tuple[RawFile, RawFile]], before: dt.date, most_bytes: int
) -> Iterator[list[tuple[RawFile, RawFile]]]:
    """Yield the pairs that become one: those of a past day, in a past month also neighbours that are small together."""
    together: list[tuple[RawFile, RawFile]] = []
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
    pairs: list[tuple[RawFile, RawFile]],
    of_documents: Callable[[pa.Table], pa.Table],
    of_observations: Callable[[pa.Table], pa.Table],
) -> None:
    """Write neighbouring pairs as one, changed by these functions, and switch the manifest to it.

    The caller holds the kind's lock, and sweeps. Raise RawDamageError when a file is not what was landed.
    """
    name = f"merged-{pairs[0][0].load_ids[0][:8]}-{secrets.token_hex(3)}"
    load_ids = tuple(load_id for documents, _ in pairs for load_id in documents.load_ids)
    documents, observations = pair(data_dir, kind, name)
    check_files(data_dir, [file.path for each in pairs for file in each])
    _concatenate(documents, documents_schema(kind), [each[0].path for each in pairs], load_ids, of_documents)
    _concatenate(observations, OBSERVATIONS, [each[1].path for each in pairs], load_ids, of_observations)
    before = read_manifest(data_dir, kind).merged
    kept = [each for each in before if not set(each.load_ids) & set(load_ids)]
    write_manifest(data_dir, kind, Manifest((*kept, Merged(name, load_ids))))
    note_files(data_dir, (documents, observations))


def _same(rows: pa.Table) -> pa.Table:
    return rows


def _concatenate(
    target: Path,
    schema: pa.Schema,
    sources: list[Path],
    load_ids: tuple[str, ...],
    changed: Callable[[pa.Table], pa.Table],
) -> None:
    writer = TableWriter(target, schema, load_ids=load_ids)
    try:
        for source in sources:
            if not source.exists():  # documents of a load of an older version that brought none
                continue
            with pq.ParquetFile(source) as file:
                for group in range(file.num_row_groups):
                    writer.add_table(changed(file.read_row_group(group)))
        writer.finish()
    except BaseException:
        writer.abandon()
        raise
