"""Raw files from before a column was added: read, merged and built as they are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.landing import merge_days, raw_files

ADDED = ["ms", "bytes", "tries", "earlier_tries", "is_backfill", "load_started_at"]


@pytest.mark.slow
def test_a_file_without_the_newer_columns_counts(world: Any, make_order: Any) -> None:
    """Alone, beside newer files and merged with them, such a file gives its verdicts; what it lacks is null."""
    world.land("orders", [{"id": 1, "document": make_order(1), "customer": "c1"}])
    (old,) = raw_files(world.data, "orders").observations
    pq.write_table(pq.read_table(old.path).drop_columns(ADDED), old.path)
    assert world.build().rows["audit.loads"] == 1
    world.land("orders", [{"id": 2, "document": make_order(2), "customer": "c2"}])
    assert world.build().rows["audit.loads"] == 2
    assert merge_days(world.data, "orders", dt.date(2026, 11, 2)) == 2
    result = world.build(full=True)
    assert (result.rows["audit.loads"], result.rows["core.orders"], result.rows["audit.fetches"]) == (2, 2, 0)


@pytest.mark.slow
@pytest.mark.sample
def test_a_file_that_does_not_tell_of_unknown_fields_is_searched(world: Any, make_order: Any) -> None:
    """Beside a newer file and merged with it, the older one's documents are noted like the newer one's."""
    strange = {"_unknown": {"/a": "string", "/b": "number"}}
    world.land("orders", [{"id": id_, "document": make_order(id_) | strange} for id_ in (1, 2)])
    (old,) = raw_files(world.data, "orders").documents
    pq.write_table(pq.read_table(old.path).drop_columns(["has_unknown"]), old.path)
    world.land("orders", [{"id": 3, "document": make_order(3)}, {"id": 4, "document": make_order(4) | strange}])
    notes = "select note, document_count, example_ids from audit.load_notes where note like '/%:%' order by all"
    world.build()
    noted = world.rows(notes)
    assert noted == [(note, n, ids) for note in ("/a:string", "/b:number") for n, ids in ((1, [4]), (2, [1, 2]))]
    assert merge_days(world.data, "orders", dt.date(2026, 11, 2)) == 2
    world.build(full=True)
    assert world.rows(notes) == noted
