"""Folders and raw files that older versions wrote: each is opened, and counts."""

from __future__ import annotations

import datetime as dt
import json
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.inventory import COPY, INVENTORY
from pipelines.landing.archives import LandingRequest, land_files
from pipelines.landing.data_folder import FORMATS, migrate
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import ledger_of, verify
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from tests.forked import ordermart

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT = sorted((Path(__file__).parents[1] / "kept_formats").glob("*.tar.gz"))


def test_every_raw_format_has_a_kept_folder() -> None:
    """A raised version of a format comes with a kept folder of it, by `python -m tests.formats`."""
    assert [int(each.name.partition(".")[0]) for each in KEPT] == list(range(1, FORMATS["raw"] + 1))


@pytest.mark.slow
@pytest.mark.parametrize("archive", KEPT, ids=lambda path: path.name)
def test_kept_folder_is_upgraded_by_run(archive: Path, tmp_path: Path) -> None:
    """`ordermart run` says that it upgrades, builds and publishes; vault, work list and ledger keep what they had."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "keys.json").chmod(0o600)
    environ = {"ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"), "ORDERMART_WAREHOUSE__THREADS": "1"}
    environ["ORDERMART_PLANNER__REQUEST_BUDGET"] = "0"  # the service of the test has none of its orders
    partner = {f"ORDERMART_PARTNER__{name}": "sandbox" for name in ("CLIENT_ID", "CLIENT_SECRET")}
    settings = load_settings(tmp_path / "ordermart.toml", environ)
    with Sandbox(orders=5, stores=2) as sandbox:
        environ |= partner | {"ORDERMART_PARTNER__BASE_URL": sandbox.base_url}
        for is_upgraded in (True, False):
            command = ("run", "--verbose", "--config", str(settings.file))
            done = ordermart(command, {**os.environ, **environ}, timeout=120)
            assert done.returncode == 0, done.stderr + done.stdout
            assert (f"formats migrated: vault from 1 to {FORMATS['vault']}" in done.stdout) == is_upgraded
    release = settings.data_dir / "published" / "current" / "ordermart.duckdb"
    assert list(_rows(release)) == [(1, "13.5000"), (2, "13.5000")]
    assert json.loads((settings.data_dir / "format.json").read_text()) == FORMATS
    assert verify(ledger_of(settings.data_dir)).entries == 1
    with WorkList(inbox_path(settings.data_dir)) as work:
        entry = work.entry("orders", 7)
        assert entry is not None
        assert entry.attempts > 0
    with open_vault(settings) as vault:
        assert vault.decrypt("orders", 1)["/user_name"] == "Nobody"


def test_new_folder_is_not_called_older(tmp_path: Path) -> None:
    """What was landed, received or encrypted before the first build has the present formats: nothing is said."""
    new_key_file(tmp_path / "keys.json")
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(tmp_path / "ordermart.toml", {"ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json")})
    with open_vault(settings), WorkList(inbox_path(settings.data_dir)):
        pass
    assert migrate(settings.data_dir) == []
    for name in ("format.json", INVENTORY, COPY):
        (settings.data_dir / name).unlink()
    (tmp_path / "orders.ndjson").write_text('{"id": 1}\n', encoding="utf-8")
    with open_vault(settings) as vault:
        land_files(settings, vault, "orders", LandingRequest([tmp_path / "orders.ndjson"]))
    assert json.loads((settings.data_dir / "format.json").read_text()) == FORMATS
    assert migrate(settings.data_dir) == []


def _rows(file: Path) -> Iterator[tuple[int, str]]:
    with duckdb.connect(str(file), read_only=True) as con:
        yield from con.execute("select order_id, cast(total_price as varchar) from core.orders order by all").fetchall()


ADDED = ["ms", "bytes", "tries", "earlier_tries", "is_backfill", "load_started_at"]


@pytest.mark.long
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
def test_a_file_that_does_not_tell_of_unknown_fields_is_searched(world: Any, make_order: Any) -> None:
    """Beside a newer file and merged with it, the older one's documents are noted like the newer one's."""
    strange = {"_unknown": {"/a": "string", "/b": "number"}}
    world.land("orders", [{"id": id_, "document": make_order(id_) | strange} for id_ in (1, 2)])
    (old,) = raw_files(world.data, "orders").documents
    pq.write_table(pq.read_table(old.path).drop_columns(["has_unknown"]), old.path)
    world.land("orders", [{"id": 3, "document": make_order(3)}, {"id": 4, "document": make_order(4) | strange}])
    notes = "select note, document_count, example_ids from workings.load_notes where note like '/%:%' order by all"
    world.build()
    noted = world.rows(notes)
    assert noted == [(note, n, ids) for note in ("/a:string", "/b:number") for n, ids in ((1, [4]), (2, [1, 2]))]
    assert merge_days(world.data, "orders", dt.date(2026, 11, 2)) == 2
    world.build(full=True)
    assert world.rows(notes) == noted
