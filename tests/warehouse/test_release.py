"""A release: one file and Parquet that are the warehouse's, described, whole, and switched to in one rename."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.rows.fresh_rows import BuildBlocked, as_texts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

ZONES = ("UTC", "America/Los_Angeles", "Asia/Kathmandu")


def fill(world: Any, makers: Any) -> Any:
    """Land two stores, a menu and ten orders over three days in two months."""
    make_order, make_menu, make_store = makers
    world.land("stores", [{"id": i, "document": make_store(i)} for i in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    orders = [make_order(i, **({"created_at": "2026-10-02T22:30:00Z"} if i > 7 else {})) for i in range(1, 11)]
    orders[0]["created_at"] = None
    world.land("orders", [{"id": each["id"], "document": each, "customer": f"c{each['id']}"} for each in orders])
    return world


@pytest.fixture
def landed(world_of: Any, makers: Any, tmp_path: Path) -> Any:
    """Give a world of ten orders that may be changed; it keeps two releases."""
    return fill(world_of(tmp_path / "landed", ORDERMART_WAREHOUSE__KEEP_RELEASES="2"), makers)


@pytest.fixture(scope="module")
def shown(world_of: Any, makers: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give a world of ten orders with a release; tests of it only read."""
    world = fill(world_of(tmp_path_factory.mktemp("shown")), makers)
    publish(world.settings, world.build())
    return world


def test_a_release_can_be_read_by_others(landed: Any) -> None:
    """Under a umask that hides everything, folders and files of a release are open to readers."""
    before = os.umask(0o077)
    try:
        publish(landed.settings, landed.build())
    finally:
        os.umask(before)
    published = landed.data / "published"
    paths = [published, published / "releases", current(landed), *current(landed).rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o055 for path in paths if path.is_dir()} == {0o055}
    assert {stat.S_IMODE(path.stat().st_mode) & 0o066 for path in paths if path.is_file()} == {0o044}


def current(world: Any) -> Path:
    """Return the folder of the release that readers see."""
    folder: Path = (world.data / "published" / "current").resolve()
    return folder


def read(folder: Path, sql: str, zone: str = "UTC") -> list[tuple[Any, ...]]:
    """Return the rows of a select on a release, as a reader's session in a timezone gets them."""
    with duckdb.connect(str(folder / "ordermart.duckdb"), read_only=True) as con:
        con.execute(f"set timezone = '{zone}'")
        return con.execute(sql).fetchall()


@pytest.mark.duckdb2
def test_the_file_explains_itself(shown: Any) -> None:
    """Every table and column has its comment, no table has a key or an index, and the build's memory is gone."""
    folder = current(shown)
    assert read(folder, "select distinct schema_name from duckdb_tables() order by 1") == [
        ("audit",),
        ("core",),
        ("mart",),
        ("meta",),
        ("ref",),
        ("workings",),
    ]
    assert read(folder, "select table_name from duckdb_tables() where coalesce(comment, '') = ''") == []
    columns = "select table_name, column_name from duckdb_columns() where not internal and coalesce(comment, '') = ''"
    assert read(folder, columns) == []
    keys = "select * from duckdb_constraints() where constraint_type in ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"
    assert read(folder, keys) == []
    assert read(folder, "from duckdb_indexes()") == []
    with pytest.raises(PermissionError if os.geteuid() else duckdb.Error):
        (folder / "ordermart.duckdb").open("r+b") if os.geteuid() else read(folder, "delete from core.orders")


@pytest.mark.duckdb2
def test_the_file_opens_in_older_duckdb(shown: Any) -> None:
    """A release is of the format that DuckDB 1.4 brought, whichever DuckDB built it."""
    with duckdb.connect(str(current(shown) / "ordermart.duckdb"), read_only=True) as con:
        tags = con.execute("select tags from duckdb_databases() where database_name = 'ordermart'").fetchall()
    assert [each["storage_version"].rstrip("+") for (each,) in tags] == ["v1.4.0"]


def test_steps_stay_behind(shown: Any) -> None:
    """A table that is but a step on the way to others stands in the warehouse, and in no release."""
    steps = {table.name for table in catalogue.tables() if not table.is_released}
    assert "workings.subtotal_patterns" in steps
    found = read(current(shown), "select schema_name || '.' || table_name from duckdb_tables()")
    assert {name for (name,) in found if not name.startswith(("meta.", "ref."))} == {
        table.name for table in catalogue.release_tables()
    }
    assert not {f"{name}" for name in steps} & {name for (name,) in found}


def stale(folder: Path) -> list[str]:
    """Return the tables of a release whose Parquet has other rows than the DuckDB file."""
    found = []
    with duckdb.connect(str(folder / "ordermart.duckdb"), read_only=True, config={"threads": 1}) as con:
        for table in catalogue.release_tables():
            texts = as_texts(table, [column.name for column in table.columns])
            stored = f"select {texts} from {table.name}"
            files = f"{folder}/parquet/{table.name.replace('.', '/')}/**/*.parquet"
            parquet = f"select {texts} from read_parquet('{files}', hive_partitioning = false)"
            if con.execute(f"({parquet} except all {stored}) union all ({stored} except all {parquet})").fetchall():
                found.append(table.name)
    return found


@pytest.mark.duckdb2
def test_parquet_and_file_hold_the_same_rows(shown: Any) -> None:
    """Every table's Parquet has the rows of the DuckDB file, decimals and times to the digit, words as texts."""
    assert stale(current(shown)) == []


def test_the_manifest_tells_every_file(shown: Any) -> None:
    """Counts of rows, a hash of every file, the code's and the settings' version: nothing more lies in the folder."""
    folder = current(shown)
    manifest = read_manifest(folder)
    assert manifest is not None
    made = shown.contents()
    assert manifest.rows == {table.name: len(made[table.name]) for table in catalogue.release_tables()}
    assert manifest.code["version"]
    assert len(manifest.settings) == 64
    on_disk = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"manifest.json"}
    assert {file.path for file in manifest.files} == on_disk
    for file in manifest.files:
        content = (folder / file.path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.bytes, file.sha256), file.path


def test_the_answers_do_not_depend_on_the_readers_clock(shown: Any) -> None:
    """Three session timezones read the same business days, local times and sums from a release."""
    folder = current(shown)
    days = "select order_id, business_date::varchar, created_at_local::varchar from mart.orders order by 1"
    sums = "select store_id, business_date::varchar, sale_class, total_price from mart.daily_store_sales order by all"
    for sql in (days, sums):
        assert len({tuple(read(folder, sql, zone)) for zone in ZONES}) == 1
    assert ("2026-10-03",) in read(folder, "select business_date::varchar from mart.orders")  # 22:30 UTC, in Berlin
    assert (None,) in read(folder, "select business_date from mart.orders")


def test_classes_add_up_to_everything_placed(shown: Any) -> None:
    """Orders and money of all sale classes together are those of core.orders, the null day included."""
    folder = current(shown)
    placed = read(folder, "select count(*), sum(total_price) from core.orders")
    assert read(folder, "select sum(order_count)::bigint, sum(total_price) from mart.daily_store_sales") == placed
    assert read(folder, "select count(*), sum(total_price) from mart.orders") == placed


def test_an_untouched_month_is_the_same_file(landed: Any, make_order: Any) -> None:
    """A night that changes an order of November rewrites November, and links October."""
    publish(landed.settings, landed.build())
    before = current(landed)
    landed.land("orders", [{"id": 2, "document": make_order(2, tip="3"), "at": 9, "customer": "c2"}])
    publish(landed.settings, landed.build())
    after = current(landed)
    assert before != after
    months = {"2026-10": True, "2026-11": False}
    for month, is_same in months.items():
        files = [next((each / f"parquet/core/orders/created_month={month}").iterdir()) for each in (before, after)]
        assert (files[0].stat().st_ino == files[1].stat().st_ino) is is_same
    assert read(before, "select tip from core.orders where order_id = 2") != read(
        after, "select tip from core.orders where order_id = 2"
    )
    moved = make_order(8, created_at="2026-11-02T10:00:00Z")  # from October, in the only other file of its table
    landed.land("orders", [{"id": 8, "document": moved, "at": 10, "customer": "c8"}])
    publish(landed.settings, landed.build())
    assert stale(current(landed)) == []


@pytest.mark.long
def test_nothing_new_publishes_nothing(landed: Any) -> None:
    """Publishing the same state again leaves the release that stands; old ones beyond keep_releases go."""
    first = publish(landed.settings, landed.build())
    assert publish(landed.settings).id == first.id
    assert [each.name for each in (landed.data / "published" / "releases").iterdir()] == [first.id]


@pytest.mark.long
def test_old_releases_go(landed: Any, make_order: Any) -> None:
    """As many releases stay as the setting says, and `current` is the last of them."""
    published = []
    for hour in range(1, 4):
        document = make_order(2, tip=str(hour))
        landed.land("orders", [{"id": 2, "document": document, "at": hour, "customer": "c2"}])
        published.append(publish(landed.settings, landed.build()).id)
    assert sorted(each.name for each in (landed.data / "published" / "releases").iterdir()) == published[1:]
    assert current(landed).name == published[-1]


def test_a_check_that_fails_publishes_nothing(landed: Any, make_order: Any) -> None:
    """The flat rows differ from the gate's counts: the build says where, and warehouse and release stand."""
    publish(landed.settings, landed.build())
    before, rows = current(landed), landed.contents()
    wrong = {"id": 2, "document": make_order(2, tip="3"), "at": 9, "customer": "c2", "gate": {"lines": 3}}
    landed.land("orders", [wrong])
    for full in (False, True):
        with pytest.raises(BuildBlocked, match=r"core\.orders__match_validation"):
            landed.build(full=full)
        assert landed.contents() == rows
        assert current(landed) == before


@pytest.mark.parametrize(
    "step",
    [
        "_switch",
        *(
            pytest.param(step, marks=pytest.mark.long)
            for step in (
                "released_tables.write_parquet",
                "manifests.write_manifest",
                "open_to_readers",
                "manifests.prune",
            )
        ),
    ],
)
def test_an_end_in_the_middle_leaves_old_or_new(
    landed: Any, make_order: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Ended before any step, publishing leaves a release that opens; the next publication makes up for it."""
    publish(landed.settings, landed.build())
    old = current(landed)
    landed.land("orders", [{"id": 2, "document": make_order(2, tip="3"), "at": 9, "customer": "c2"}])
    landed.build()
    with monkeypatch.context() as patched:
        patched.setattr(f"pipelines.warehouse.release.release.{step}", _end)
        with pytest.raises(KeyboardInterrupt):
            publish(landed.settings)
    assert (current(landed) == old) is (step != "manifests.prune")
    assert read(current(landed), "select count(*) from core.orders") == [(10,)]
    publish(landed.settings)
    assert current(landed) != old
    assert read(current(landed), "select tip::varchar from core.orders where order_id = 2") == [("3.0000",)]
    assert not list((landed.data / "published").rglob(".unfinished-*"))


def _end(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_release_is_on_disk_before_it_is_current(landed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file and folder of it is synced, all before the link to it: a power cut leaves a whole one."""
    synced: list[int] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        sync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    publish(landed.settings, landed.build())
    folder = current(landed)
    files = {path.stat().st_ino for path in (folder, *folder.rglob("*"))}
    assert files <= {*synced}
    last = max(synced.index(each) for each in files)
    switched = (landed.data / "published").stat().st_ino
    assert switched in synced[last:], "the folder of the link, after them"
