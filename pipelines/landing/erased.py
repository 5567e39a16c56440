"""Erase orders in raw files: plaintext fields of their documents, and the keys of their customers in observations.

The files are written again as merges are: the new pair first, then the manifest, then the old ones go. Documents keep
the hash that they were landed with and are marked.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.landing.checksums import noted_files
from pipelines.landing.lock import Lock
from pipelines.landing.merge import rewrite
from pipelines.landing.plaintext import without_plaintext
from pipelines.landing.raw_files import folder, raw_files, sweep

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


class RawErasure:
    """What to erase from the raw files of orders: orders by id, customers by the hash of their key."""

    def __init__(self, order_ids: Collection[int], key_hashes: Collection[str]) -> None:
        self._ids = pa.array(sorted(order_ids), pa.int64())
        self._hashes = frozenset(key_hashes)

    def concerns(self, documents: Path, observations: Path) -> bool:
        """Tell whether a pair of files holds anything of it."""
        with pq.ParquetFile(observations) as file:
            for batch in file.iter_batches(columns=["customer_key"]):
                if self._keys(batch.column("customer_key")):
                    return True
        if not documents.exists():
            return False
        with pq.ParquetFile(documents) as file:
            for group in range(file.num_row_groups):
                ids = file.read_row_group(group, columns=["id"]).column("id")
                if pc.any(pc.is_in(ids, value_set=self._ids)).as_py():
                    table = file.read_row_group(group, columns=["id", "document"])
                    if self.documents(table).column("document") != table.column("document"):
                        return True
        return False

    def documents(self, table: pa.Table) -> pa.Table:
        """Return rows of documents without plaintext fields of these orders, which are marked."""
        mine = pc.is_in(table.column("id"), value_set=self._ids).to_pylist()
        if not any(mine):
            return table
        texts = table.column("document").to_pylist()
        erased = [without_plaintext(t.encode()).decode() if own else t for own, t in zip(mine, texts, strict=True)]
        table = table.set_column(table.column_names.index("document"), "document", pa.array(erased, pa.string()))
        marks = table.column("is_erased").to_pylist() if "is_erased" in table.column_names else [None] * table.num_rows
        marked = pa.array([True if own else mark for own, mark in zip(mine, marks, strict=True)], pa.bool_())
        if "is_erased" in table.column_names:
            table = table.drop_columns(["is_erased"])
        return table.append_column("is_erased", marked)

    def observations(self, table: pa.Table) -> pa.Table:
        """Return rows of observations without the keys of these customers."""
        keys = self._keys(table.column("customer_key"))
        if not keys:
            return table
        found = pc.is_in(table.column("customer_key"), value_set=pa.array(sorted(keys), pa.string()))
        cleared = pc.if_else(found, pa.scalar(None, pa.string()), table.column("customer_key"))
        return table.set_column(table.column_names.index("customer_key"), "customer_key", cleared)

    def _keys(self, column: pa.Array | pa.ChunkedArray) -> set[str]:
        values = (key for key in pc.unique(column).to_pylist() if key is not None)
        return {key for key in values if hashlib.sha256(key.encode()).hexdigest() in self._hashes}


def erase_in_raw(data_dir: Path, order_ids: Collection[int], key_hashes: Collection[str]) -> int:
    """Rewrite the raw files of orders that hold anything of these orders or customers; return how many pairs.

    Doing it again rewrites nothing. Raise LandingError when a load of orders is under way, RawDamageError when a file
    that would be rewritten is damaged.
    """
    if not folder(data_dir, "observations", "orders").is_dir():
        return 0
    erasure = RawErasure(order_ids, key_hashes)
    rewritten = 0
    with Lock(data_dir / "raw" / "orders.lock", "orders"):
        sweep(data_dir, "orders", noted_files(data_dir))
        files = raw_files(data_dir, "orders")
        for documents, observations in zip(files.documents, files.observations, strict=True):
            if erasure.concerns(documents.path, observations.path):
                rewrite(data_dir, "orders", [(documents, observations)], erasure.documents, erasure.observations)
                rewritten += 1
        if rewritten:
            sweep(data_dir, "orders", noted_files(data_dir))
    return rewritten
