"""Two releases compared, a sample of one, and a notebook's connection to it."""

from __future__ import annotations

import json
import shutil
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.read import NoReleaseError, connect
from pipelines.report.outcomes import diff_lines
from pipelines.warehouse.release import released_tables
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.release.release_diff import Side, compare, diff

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


@pytest.fixture(scope="module")
def world(world_of: Any, makers: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give a world of 40 orders, published before and after one changed, one came and one moved to another month."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path_factory.mktemp("two"))
    world.land("stores", [{"id": i, "document": make_store(i)} for i in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    orders = [make_order(number, created_at="2026-10-02T10:00:00Z") for number in range(1, 41)]
    world.land("orders", [{"id": each["id"], "document": each} for each in orders])
    world.first = publish(world.settings, world.build()).id
    world.con = connect(world.data)
    changed = [
        make_order(2, created_at="2026-10-02T10:00:00Z", tip="3", total_price="16.5"),
        make_order(4, created_at="2026-11-02T10:00:00Z"),
        make_order(41, created_at="2026-10-02T10:00:00Z", total_price="7"),
        orders[5],
    ]
    world.land("orders", [{"id": each["id"], "document": each, "at": 5} for each in changed])
    world.second = publish(world.settings, world.build()).id
    yield world
    world.con.close()


@pytest.mark.slow
def test_changes_are_stored_in_the_release(world: Any) -> None:
    """Rows that differ are counted by table, store and month; an order that was only seen again is not among them."""
    with connect(world.data) as con:
        assert con.execute("select release_id, previous_release_id from meta.release").fetchall() == [
            (world.second, world.first)
        ]
        said = "select store_id, month, added_row_count, removed_row_count, changed_row_count from meta.changes "
        for table in ("mart.orders", "core.orders"):
            assert con.execute(f"{said} where table_name = '{table}' order by all").fetchall() == [
                (1, "2026-10", 0, 1, 1),
                (1, "2026-11", 1, 0, 0),
                (2, "2026-10", 1, 0, 0),
            ]
        lines = con.execute(f"{said} where table_name = 'core.order_lines' order by all").fetchall()
        assert lines == [(1, "2026-10", 0, 2, 0), (1, "2026-11", 2, 0, 0), (2, "2026-10", 2, 0, 0)]
        untouched = "select count(*) from meta.changes where table_name in ('core.menus', 'core.stores')"
        assert con.execute(untouched).fetchall() == [(0,)]


@pytest.mark.slow
def test_changed_amounts_are_sums_before_and_after(world: Any) -> None:
    """The amounts of meta.changed_amounts are what each release's own table adds up to."""
    with connect(world.data) as con:
        told = con.execute(
            """
            select previous_amount, current_amount from meta.changed_amounts
            where table_name = 'mart.daily_store_sales' and column_name = 'total_price' and store_id = 1
                and month = '2026-10'
            """
        ).fetchall()
        total = (
            "select sum(total_price) from mart.daily_store_sales where store_id = 1 and business_date < '2026-11-01'"
        )
        assert told == [(*world.con.execute(total).fetchone(), *con.execute(total).fetchone())]
        assert told[0][1] - told[0][0] == Decimal("16.5") - 2 * Decimal("13.5001")
        averages = "from meta.changed_amounts where column_name in ('average_order_value', 'unit_price')"
        assert con.execute(averages).fetchall() == []


@pytest.mark.slow
def test_diff_says_what_the_release_says(world: Any) -> None:
    """`ordermart diff` gives the rows of meta.changes; A and B may be named; the other way round adds what was lost."""
    asked = ["diff", "--json", "--config", str(world.settings.file)]
    found = json.loads(CliRunner().invoke(app, asked).stdout)
    assert (found["previous_release_id"], found["release_id"]) == (world.first, world.second)
    with connect(world.data) as con:
        for name in ("changes", "changed_amounts"):
            rows = [tuple(row.values()) for row in found[name]]
            stored = con.execute(f"from meta.{name}").fetchall()
            texts = [tuple(str(part) if isinstance(part, Decimal) else part for part in row) for row in stored]
            assert sorted(rows, key=repr) == sorted(texts, key=repr)
    back = diff(world.settings, world.second, world.first)
    orders = [each for each in back.changes.rows if each["table_name"] == "mart.orders" and each["store_id"] == 2]
    assert [(each["added_row_count"], each["removed_row_count"]) for each in orders] == [(0, 1)]
    lines = list(diff_lines(back))
    assert "mart.orders, store 2, 2026-10: rows 0 added, 1 removed, 0 changed" in lines
    assert list(diff_lines(diff(world.settings, world.first, world.first)))[1:] == ["No row of core or mart differs."]


@pytest.mark.slow
def test_columns_that_other_code_did_not_have_are_not_compared(world: Any, tmp_path: Path) -> None:
    """A release of a version whose orders had no tip differs in what both have; the same code is taken at its word."""
    shutil.copytree(world.data / "published" / "releases", tmp_path, dirs_exist_ok=True)
    manifests = [read_manifest(tmp_path / each) for each in (world.first, world.second)]
    old, new = (Side(tmp_path / each.id, each.files, {}) for each in manifests if each)
    with duckdb.connect() as con:
        whole = compare(con, old._replace(fingerprint={"code": "a"}), new._replace(fingerprint={"code": "a"}))
        for file in (tmp_path / world.first / "parquet" / "mart" / "orders").rglob("*.parquet"):
            file.chmod(0o644)
            rows = con.sql(f"select * exclude (tip) from '{file}'").to_arrow_table()
            con.from_arrow(rows).write_parquet(str(file))
        for codes in (("a", "b"), ("", "b"), ("a", "")):
            sides = [
                each._replace(fingerprint={"code": code} if code else {})
                for each, code in zip((old, new), codes, strict=True)
            ]
            assert compare(con, *sides).rows == whole.rows
        with pytest.raises(duckdb.Error, match="tip"):
            compare(con, old._replace(fingerprint={"code": "a"}), new._replace(fingerprint={"code": "a"}))


@pytest.mark.slow
def test_diff_names_the_releases_there_are(world: Any) -> None:
    """A name that is no release ends with 1, and a sentence that lists them."""
    done = CliRunner().invoke(app, ["diff", "2020", "--config", str(world.settings.file)])
    assert world.first in str(done.exception)
    assert "'2020' is not a release" in str(done.exception)


@pytest.mark.promise(4)
def test_connection_stays_on_its_release(world: Any) -> None:
    """A connection opened before a publication reads the older release, in UTC, and cannot write."""
    assert world.con.execute("select count(*) from core.orders").fetchall() == [(40,)]
    with connect(world.data) as con:
        assert con.execute("select count(*), current_setting('timezone') from core.orders").fetchall() == [(41, "UTC")]
        with pytest.raises(duckdb.Error, match="read-only"):
            con.execute("delete from core.orders")
    with pytest.raises(NoReleaseError, match="ordermart run"):
        connect(world.data / "nothing")


def test_months_that_did_not_change_are_not_written_again(world_of: Any, makers: Any, tmp_path: Path) -> None:
    """Of three months the changed one is written; files of the others are linked, and what had no rows is not tried."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path)
    world.land("stores", [{"id": 1, "document": make_store(1)}])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    orders = [make_order(month, store_id=1, created_at=f"2026-{month:02}-12T10:00:00Z") for month in (8, 9, 10)]
    world.land("orders", [{"id": each["id"], "document": each} for each in orders])
    first = publish(world.settings, world.build())
    changed = make_order(10, store_id=1, created_at="2026-10-12T10:00:00Z", tip="3", total_price="16.5")
    world.land("orders", [{"id": 10, "document": changed, "at": 5}])
    result, written = world.build(), set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is released_tables._write.__code__:
            written.add(frame.f_locals["part"].month)

    threading.setprofile(note)  # parts are written in threads of their own
    try:
        second = publish(world.settings, result)
    finally:
        threading.setprofile(None)
    assert written - {""} == {"2026-10"}, "a table that is one file is written whole"
    months = {each.month for each in read_manifest(second.path).files if each.table == "core.orders"}
    assert months == {each.month for each in read_manifest(first.path).files if each.table == "core.orders"}
