"""`verify` rebuilds a sample from raw by the full path and finds any row that differs, wherever it is."""

from __future__ import annotations

import datetime as dt
import shutil
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.landing.raw_folder import raw_files
from pipelines.run.steps import run_maintenance
from pipelines.settings import load_settings
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.inputs.sources import verifications
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.verify import VerifyError, verify_all, verify_days, verify_next
from tests.histories import history, run

if TYPE_CHECKING:
    from pathlib import Path

QUARTER = Fraction(1, 4)
WHOLE = Fraction(1)


@pytest.fixture(scope="module")
def template(world_of: Any, makers: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give a world of eight orders on three days, two of which changed by an increment, published."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path_factory.mktemp("verify") / "world")
    world.land("stores", [{"id": each, "document": make_store(each)} for each in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    world.land("orders", [{"id": each, "document": make_order(each, status="done")} for each in range(1, 9)])
    world.build()
    world.land("orders", [{"id": each, "document": make_order(each, status="x"), "at": 5} for each in (2, 7)])
    world.build()
    publish(world.settings)
    return world


@pytest.fixture
def published(template: Any, tmp_path: Path) -> Any:
    """Give a copy of that world, which may be altered."""
    return template.copied(tmp_path / "world")


def _alter(file: Path, sql: str) -> None:
    file.chmod(0o644)
    with duckdb.connect(str(file)) as con:
        con.execute(sql)


@pytest.mark.slow
def test_sound_warehouse_is_proven_in_full(published: Any) -> None:
    """Every table of the warehouse and of both forms of the release is what a full build gives."""
    found = verify_all(published.settings)
    assert (found.differences, found.left_out, found.orders) == ([], set(), 8)
    assert found.has_release
    assert "audit.coverage" in found.tables


@pytest.mark.long
def test_rotation_covers_every_order_and_day(published: Any) -> None:
    """Parts follow each other until all ids are proven, then begin again; each is in the log."""
    for _ in range(4):
        assert verify_next(published.settings, QUARTER).differences == []
    log = verifications(published.data)
    ranges = [(each.first_order_id, each.last_order_id) for each in log if each.part == "orders"]
    assert ranges == [(-(2**63), 2), (3, 4), (5, 6), (7, 2**63 - 1)]
    assert sum(each.order_count for each in log if each.part == "orders") == 8
    assert len({each.business_date for each in log if each.part == "day"}) == 3
    assert [each.part for each in log].count("entities") == 1
    verify_next(published.settings, QUARTER)
    assert [each.part for each in verifications(published.data)].count("entities") == 2
    published.build()
    assert published.rows("select count(*) from audit.verifications where is_proven") == [(len(log) + 3,)]


@pytest.mark.slow
def test_altered_rows_of_the_warehouse_are_named(published: Any) -> None:
    """Table, key and column of rows that were altered behind the build's back are named, lost and added ones too."""
    faults = {
        "update core.order_versions set tip = 7 where order_id = 3": (
            "core.order_versions, order_id 3, version_no 1: tip"
        ),
        "delete from core.order_deliveries where order_id = 3": (
            "core.order_deliveries, order_id 3, delivery_no 1: the row, which is missing,"
        ),
        "update core.stores set name = 'other' where store_id = 2": "core.stores, store_id 2: name",
        "update core.orders set order_id = 99 where order_id = 3": (
            "core.orders, order_id 3: the row, which is missing,"
        ),
        "insert into audit.order_rules by name select * replace (4 as order_id) from audit.order_rules limit 1": (
            "audit.order_rules, order_id 4: the row, which raw does not have,"
        ),
    }
    for fault in faults:
        _alter(warehouse_file(published.data), fault)
    differences = verify_next(published.settings, WHOLE).differences
    named = {each.sentence().partition(" differs")[0] for each in differences if each.place == "the warehouse"}
    assert named >= set(faults.values())
    assert not any(each.is_proven for each in verifications(published.data) if each.part != "day")


@pytest.mark.slow
def test_altered_day_is_named(published: Any) -> None:
    """A day that does not add up its orders is found by verifying that day; another day is proven."""
    _alter(
        warehouse_file(published.data), "update mart.daily_store_sales set tip = 7 where business_date = '2026-11-03'"
    )
    named = {each.sentence() for each in verify_days(published.settings, 1).differences}
    expected = "mart.daily_store_sales, store_id 1, business_date 2026-11-03, sale_class unmapped: tip"
    assert {sentence.partition(" differs")[0] for sentence in named} == {expected}
    assert [each.is_proven for each in verifications(published.data)] == [False]
    command = CliRunner().invoke(app, ["verify", "--days", "1", "--config", str(published.settings.file)])
    assert command.exit_code == 3
    assert f"DIFFERENT  {expected}" in command.stdout
    assert CliRunner().invoke(app, ["verify", "--days", "0", "--fraction", "2"]).exit_code != 0


@pytest.mark.slow
def test_altered_release_is_named(published: Any) -> None:
    """The warehouse is right, and a row of each form of the release is not."""
    release = published.data / "published" / "current" / "ordermart.duckdb"
    _alter(release, "update mart.orders set tip = 7 where order_id = 3")
    folder = (published.data / "published" / "current").resolve() / "parquet" / "core" / "order_lines"
    file = next(folder.rglob("*.parquet"))
    file.chmod(0o644)
    with duckdb.connect() as con:
        rows = con.sql(f"select * replace (quantity + 1 as quantity) from '{file}'").to_arrow_table()
        con.from_arrow(rows).write_parquet(str(file))
    found = verify_next(published.settings, WHOLE).differences
    environ = {"ORDERMART_WAREHOUSE__THREADS": "1", "ORDERMART_VERIFY__SECONDS": "60"}
    tasks = run_maintenance(
        load_settings(published.settings.file, environ)
    )  # what a scheduled night does after its release
    assert any("of the release" in task.error and "VerifyError" in task.error for task in tasks)
    assert {(each.table, each.column, each.place) for each in found} == {
        ("mart.orders", "tip", "ordermart.duckdb of the release"),
        ("core.order_lines", "quantity", "Parquet of the release"),
    }


@pytest.mark.long
def test_a_release_of_another_build_is_not_compared(published: Any, make_order: Any) -> None:
    """A build that is not published yet, and a warehouse without any release, are verified alone."""
    published.land("orders", [{"id": 9, "document": make_order(9), "at": 9}])
    published.build()
    found = verify_days(published.settings, 1)
    assert (found.differences, found.has_release) == ([], False)
    publish(published.settings)
    assert verify_days(published.settings, 1).has_release
    shutil.rmtree(published.data / "published")
    found = verify_days(published.settings, 1)
    assert (found.differences, found.has_release) == ([], False)


@pytest.mark.long
def test_release_of_before_a_quiet_night_is_compared(published: Any, make_order: Any) -> None:
    """Nothing was published, since readers would see the same: that is compared, and an alteration named."""
    published.build()
    publish(published.settings)
    published.land("orders", [{"id": 8, "document": make_order(8, status="done"), "at": 9}])
    published.build()
    assert publish(published.settings, run="night").why_kept
    found = verify_all(published.settings)
    assert (found.has_release, found.differences) == (True, [])
    file = (published.data / "published" / "current").resolve() / "ordermart.duckdb"
    _alter(file, "update core.orders set status = 'altered' where order_id = 3")
    assert {each.table for each in verify_all(published.settings).differences} == {"core.orders"}


@pytest.mark.slow
def test_raw_file_that_cannot_be_read_is_named_and_logged(published: Any) -> None:
    """A verification that could not run is logged like one that differs, so that it is an alarm, and names the file."""
    path = raw_files(published.data, "orders").documents[0].path
    content = bytearray(path.read_bytes())
    for place in range(8, 60):
        content[place] ^= 0xFF
    path.write_bytes(content)
    result = CliRunner().invoke(
        app, ["verify", "--fraction", "1/1", "--config", str(published.settings.file)], env=published._environ
    )
    assert (type(result.exception), str(path.name) in str(result.exception)) == (VerifyError, True)
    (last,) = verifications(published.data)[-1:]
    assert (last.is_proven, path.name in (last.first_difference or "")) == (False, True)


@pytest.mark.slow
def test_what_is_not_built_yet_is_not_verified(published: Any, make_order: Any) -> None:
    """Without time one part is verified all the same; documents landed since a build are no difference."""
    assert verify_next(published.settings, WHOLE, budget=dt.timedelta(0)).parts == 1
    published.land("orders", [{"id": 9, "document": make_order(9), "at": 9}])
    with pytest.raises(VerifyError, match="run `ordermart build` first"):
        verify_next(published.settings, WHOLE)


@pytest.mark.long
@pytest.mark.parametrize("seed", [5, 10])  # short ones
def test_histories_are_proven_by_samples(seed: int, tmp_path: Path) -> None:
    """After the increments of a history, every part of the rotation is as the full path gives it."""
    world, _ = run(history(seed), tmp_path)
    assert [each.sentence() for each in verify_next(world.settings, WHOLE).differences] == []
