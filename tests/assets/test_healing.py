"""Damage: whatever can be derived is rebuilt by the ordinary run and said; whatever cannot is named with what to do."""

from __future__ import annotations

import datetime as dt
import json
import os
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import mend
from pipelines.finance.closing import build_and_record
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.inventory import write_noted
from pipelines.landing.raw_folder import LandingError, RawDamageError, check_raw, raw_files
from pipelines.record import NIGHT, WEBHOOKS
from pipelines.run.steps import heal
from pipelines.run.under_way import begun
from pipelines.settings import SettingsError, load_settings
from pipelines.vault import new_key_file
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.release.manifest import DATABASE, read_manifest
from pipelines.warehouse.release.release import publish
from tests.warehouse.conftest import World, order

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Place


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a data folder with three orders, one of which failed last, built and published."""
    world = World(tmp_path_factory.mktemp("healing") / "world")
    world.land("orders", [{"id": each, "document": order(each)} for each in (1, 2, 3)])
    world.land("orders", [{"id": 4, "verdict": "failed", "at": 1}])
    heal(world.settings)
    build_and_record(world.settings)
    publish(world.settings, run=NIGHT)
    return world


@pytest.fixture
def world(template: World, tmp_path: Path) -> World:
    """Give a copy of that data folder."""
    return template.copied(tmp_path / "world")


def _release(world: World) -> Path:
    return (world.data / "published" / "current").resolve()


def _garble(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 300_000)


def _spoil_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    eighth = len(content) // 8  # most of it: a block that nothing reads is no damage to a build
    content[eighth:-eighth] = os.urandom(len(content) - 2 * eighth)
    path.write_bytes(content)


def _leave_another_log(path: Path) -> None:
    import duckdb  # noqa: PLC0415

    other = path.with_name("other.duckdb")
    with duckdb.connect(str(other)) as con:
        con.execute("set checkpoint_threshold = '1TB'; set wal_autocheckpoint = '1TB'; create schema core")
        con.execute("create table core.x as select * from range(1000)")
        log = other.with_name("other.duckdb.wal").read_bytes()
    other.unlink()
    path.with_name(path.name + ".wal").write_bytes(log)


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _garble,
        _leave_another_log,
        _spoil_the_middle,
    ],
)
def test_damaged_warehouse_is_set_aside_and_rebuilt(damage: Callable[[Path], None], world: World) -> None:
    """A file that is garbled, cut, spoiled within or beside another's log: a night rebuilds it, and says so."""
    before = world.contents()
    damage(warehouse_file(world.data))
    world.land("orders", [{"id": 1, "at": 3, "document": order(1)}])
    said = [*heal(world.settings), *build_and_record(world.settings).notes]
    assert len([note for note in said if "was damaged" in note and "rebuilt from raw" in note]) == 1
    assert len(list(warehouse_file(world.data).parent.glob("*.damaged-*[0-9]"))) == 1
    assert world.contents().keys() == before.keys()
    after = world.contents()
    world.build(full=True)
    assert world.contents() == after
    assert heal(world.settings) == []


@pytest.mark.slow
def test_damaged_release_is_published_again(world: World) -> None:
    """A file of another size or hash, or no manifest: it is published again, as a night's if that is known."""
    for run, damage in (
        (NIGHT, lambda release: _cut(release / "ordermart.duckdb")),
        (NIGHT, lambda release: _spoil(next(release.rglob("core/order_lines/**/*.parquet")))),
        ("", lambda release: (release / "manifest.json").unlink()),
    ):
        damaged = _release(world)
        for path in damaged.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        damage(damaged)
        (said,) = heal(world.settings)
        assert f"Release {damaged.name} was damaged" in said
        assert not damaged.exists()
        manifest = read_manifest(_release(world))
        assert manifest is not None
        assert manifest.run == run
        assert heal(world.settings) == []
    assert publish(world.settings).path == _release(world)


def _spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.slow
def test_damaged_part_of_a_release_is_not_linked_into_the_next(world: World) -> None:
    """Of a release whose Parquet was altered, the next release takes no file that is not what its manifest says."""
    file = next(_release(world).rglob("core/order_lines/**/*.parquet"))
    file.chmod(0o644)
    _spoil(file)
    world.land("stores", [{"id": 9, "document": {"id": 9, "name": "S", "menu_ids": [], "attributes": {}}}])
    world.build()
    notes = publish(world.settings).notes
    assert [note for note in notes if "was damaged" in note]
    assert heal(world.settings) == []


@pytest.mark.promise(13)
def test_damaged_work_list_is_made_again(world: World) -> None:
    """A garbled work list is set aside; what failed last is due again, and losses are named."""
    path = inbox_path(world.data)
    with WorkList(path) as work:
        work.add("orders", [7], why="test")
    _garble(path)
    said = heal(world.settings)
    assert "Lost with it" in said[0]
    assert "1 ids are due" in said[1]
    with WorkList(path) as work:
        assert work.due("orders") == [4]
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


@pytest.mark.slow
def test_damaged_raw_file_is_named_and_nothing_is_published(world: World) -> None:
    """A raw file that is cut, or altered, stops a build with its name; the release stays; restored, it goes on."""
    file = raw_files(world.data, "orders").documents[0].path
    content, release = file.read_bytes(), _release(world)
    file.write_bytes(content[:-10])
    world.land("orders", [{"id": 5, "document": order(5)}])
    with pytest.raises(RawDamageError, match=f"{file.name} .* bytes instead of .*Restore them from a backup"):
        build_and_record(world.settings)
    with pytest.raises(RawDamageError):
        world.build(full=True)
    assert _release(world) == release
    _spoil_one(file, content)
    check_raw(world.data)
    with pytest.raises(RawDamageError, match="other content"):
        check_raw(world.data, hashes=True)
    file.write_bytes(content)
    assert world.build().rows["core.orders"] == 4


def _spoil_one(file: Path, content: bytes) -> None:
    spoiled = bytearray(content)
    spoiled[len(spoiled) // 2] ^= 1
    file.write_bytes(spoiled)


def test_new_raw_file_that_cannot_be_read_is_named(world: World) -> None:
    """A file that was cut before any build has seen it is named too."""
    world.land("orders", [{"id": 5, "document": order(5)}])
    file = raw_files(world.data, "orders").observations[-1].path
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(RawDamageError, match=file.name):
        world.build()


def test_damaged_small_file_of_raw_is_named(world: World) -> None:
    """Counts of requests, a list of merged files, or the note of the service: cut, each is named with what to do."""
    raw = world.data / "raw"
    (raw / "service").mkdir(exist_ok=True)
    for name, error in (
        ("service/2026-11-01.json", LandingError),
        ("merged-orders.json", LandingError),
        ("source.json", SettingsError),
    ):
        file = raw / name
        content = file.read_bytes() if file.exists() else None
        file.write_bytes(b"[")
        with pytest.raises(error, match=f"{file} is damaged: restore it from a backup"):
            world.build(full=True)
        file.unlink() if content is None else file.write_bytes(content)
    world.build()


@pytest.mark.slow
def test_warehouse_of_another_version_is_rebuilt_before_it_is_read(world: World) -> None:
    """A warehouse without the tables of today is rebuilt from raw first, and its release published again."""
    import duckdb  # noqa: PLC0415

    before = world.contents()
    with duckdb.connect(str(warehouse_file(world.data))) as con:
        con.execute("drop table core.order_versions; update build.memory set layout = 1")
    (said,) = heal(world.settings)
    assert said == "The warehouse was built by another version; all tables were rebuilt from raw."
    assert world.contents() == before


def test_newer_format_is_refused_and_older_one_migrated(world: World) -> None:
    """A folder of a newer format is refused with a sentence; one of before versions is brought to the present one."""
    file = world.data / "format.json"
    formats = json.loads(file.read_text())
    write_noted(world.data, file, json.dumps(formats | {"raw": 99}).encode())
    with pytest.raises(SettingsError, match="raw has format 99, and this version of ordermart reads up to"):
        world.build()
    write_noted(world.data, file, json.dumps(formats | {"vault": 1}).encode())
    (said,) = heal(world.settings)
    assert said.startswith("The data folder was written by an older version")
    assert json.loads(file.read_text()) == formats
    assert heal(world.settings) == []
    file.unlink()
    (damage,) = mend(world.settings, seconds=0).damages
    assert (damage.path, damage.what, damage.is_mended) == ("format.json", "missing", True)
    assert json.loads(file.read_text()) == formats


@pytest.mark.slow
def test_clock_set_back_orders_releases_all_the_same(world: World) -> None:
    """A release that is published while the clock is a day behind comes after the last one, and that one is kept."""
    published = world.data / "published"
    ahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    last = _release(world)
    future = last.with_name(f"{ahead:%Y%m%dT%H%M%S%f}-abcdef")
    last.rename(future)
    (published / "current").unlink()
    (published / "current").symlink_to(f"releases/{future.name}")
    world.land("orders", [{"id": 6, "document": order(6), "at": 9}])
    world.build()
    assert publish(world.settings).id > future.name
    assert future.exists()


@pytest.mark.slow
def test_night_after_everything_derived_was_damaged(place: Place) -> None:
    """Warehouse, release and work list garbled at once: one ordinary run mends them, says each, and publishes."""
    assert place.command("run", "--order-ids", str(place.ids)).returncode in (0, 3)
    before = place.all("select order_id, total_price from core.orders order by all")
    release = (place.data / "published" / "current").resolve() / "ordermart.duckdb"
    release.chmod(0o644)
    for path in (release, place.data / "warehouse" / "warehouse.duckdb", place.data / "inbox" / "worklist.sqlite"):
        _garble(path)
    done = place.command("run")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    for words in ("The work list was damaged", "The warehouse file was damaged", "was damaged (ordermart.duckdb)"):
        assert words in done.stdout, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert place.all("select order_id, total_price from core.orders order by all") == before


@pytest.mark.slow
def test_a_run_repairs_the_data_folder(world: World) -> None:
    """The first step of a run publishes a damaged release again."""
    new_key_file(world.data.parent / "keys.json")
    environ = {
        "ORDERMART_PARTNER__CLIENT_ID": "a client",
        "ORDERMART_PARTNER__CLIENT_SECRET": "a secret of a client",
        "ORDERMART_VAULT__KEY_FILE": str(world.data.parent / "keys.json"),
        "ORDERMART_WAREHOUSE__THREADS": "1",
    }
    settings = load_settings(world.settings.file, environ)
    damaged = _release(world)
    database = damaged / DATABASE
    database.chmod(0o644)
    _cut(database)
    with begun(settings, WEBHOOKS) as way:
        assert _release(world) == damaged
        way.do("heal")
    assert _release(world) != damaged
