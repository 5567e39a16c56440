"""History: versions of orders, menus and stores, and what they were at a time."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.catalogue import create_macros, macros
from pipelines.warehouse.release.release import publish

VERSIONS = ("core.menu_price_versions", "core.menu_product_versions", "core.modifier_price_versions")


def _land_nights(world: Any, menu: Any, first: int, nights: int) -> None:
    for start in range(first, first + nights, 200):
        merged = range(start, min(start + 200, first + nights))
        world.land("menus", [{"id": 1, "at": 24 * n, "document": menu, "verdict": "unchanged"} for n in merged])


@pytest.mark.long
def test_unchanged_fetches_of_a_menu_add_nothing(world: Any, make_menu: Any) -> None:
    """A thousand nights of a menu that did not change leave every row of its history as the first night made it."""
    menu = make_menu(1)
    world.land("menus", [{"id": 1, "document": menu}])
    world.build()
    before = {table: world.rows(f"from {table} order by all") for table in VERSIONS}
    _land_nights(world, menu, 1, 3)
    assert not world.build().full  # after a few nights …
    _land_nights(world, menu, 4, 997)
    assert not world.build().full  # … and after many
    assert {table: world.rows(f"from {table} order by all") for table in VERSIONS} == before
    world.build(full=True)
    assert {table: world.rows(f"from {table} order by all") for table in VERSIONS} == before


def _old_documents(world: Any) -> list[Path]:
    return sorted((world.data / "raw" / "documents" / "orders").iterdir())


@pytest.mark.slow
def test_an_increment_reads_no_old_document(world: Any, make_order: Any) -> None:
    """What a version changed is found in the tables: the files of earlier documents are not read."""
    world.land("orders", [{"id": i, "document": make_order(i), "at": 1} for i in (1, 2)])
    world.build()
    [old] = _old_documents(world)
    items = [make_order(1)["items"][1]]
    world.land("orders", [{"id": 1, "document": make_order(1, status="done", items=items), "at": 2}])
    content = old.read_bytes()
    old.write_bytes(bytes(len(content)))  # a reader of it fails
    assert not world.build().full
    old.write_bytes(content)
    changes = "select version_no, field, old_value, new_value from core.order_changes order by all"
    assert world.rows(changes) == [(2, "items", None, None), (2, "status", "preparing", "done")]
    lines = "select lines_version_no, line_no, line_id from core.order_line_versions order by all"
    assert world.rows(lines) == [(1, 1, 10), (1, 2, 11), (2, 1, 11)]
    before = world.contents()
    assert world.build(full=True).full
    assert world.contents() == before


@pytest.mark.long
@pytest.mark.duckdb2
def test_there_and_back_is_three_versions(world: Any, make_order: Any) -> None:
    """A, B, A is three versions, and a fourth observation, of A, goes on with the third."""
    there, back = make_order(1), make_order(1, total_price="99")
    for hour, document in enumerate((there, back, there, there)):
        world.land("orders", [{"id": 1, "document": document, "at": hour}])
        world.build()
    versions = "select version_no, total_price::varchar, hour(last_seen_at) from core.order_versions order by all"
    assert world.rows(versions) == [(1, "13.5001", 12), (2, "99.0000", 13), (3, "13.5001", 15)]


@pytest.mark.slow
@pytest.mark.duckdb2
def test_an_older_observation_renumbers(world: Any, make_order: Any) -> None:
    """An observation that comes late takes its place among the versions, and all of that order is rebuilt."""
    world.land("orders", [{"id": 1, "document": make_order(1, status="done"), "at": 5}])
    world.build()
    world.land("orders", [{"id": 1, "document": make_order(1, status="new"), "at": 2}])
    assert not world.build().full
    assert world.rows("select version_no, status, changed_fields from core.order_versions order by all") == [
        (1, "new", []),
        (2, "done", ["status"]),
    ]
    assert world.rows("select previous_status, status, occurrence_count from audit.status_transitions") == [
        ("new", "done", 1)
    ]


@pytest.mark.slow
def test_personal_changes_by_name(world: Any, make_order: Any) -> None:
    """A personal field that changed with a version stands among its changed fields, without any value."""
    world.land("orders", [{"id": 1, "document": make_order(1), "at": 1}])
    world.land("orders", [{"id": 1, "document": make_order(1, tip="2"), "at": 2, "personal": ["user_name"]}])
    world.build()
    assert world.rows("select field, old_value, new_value from core.order_changes order by all") == [
        ("tip", "0.0001", "2.0000"),
        ("user_name", None, None),
    ]


@pytest.mark.slow
def test_a_store_that_is_no_longer_listed(world: Any, make_store: Any) -> None:
    """A store that leaves the listing keeps the time when it was last listed, and a rename is a row."""
    world.land("stores", [{"id": i, "document": make_store(i), "at": 0} for i in (1, 2)])
    world.build()
    for night in (24, 48):
        world.land("stores", [{"id": 1, "document": make_store(1, name="New"), "at": night}])
        world.build()
    listed = (
        "select store_id, name, last_listed_at::varchar, is_current from core.store_versions "
        "order by store_id, version_no"
    )
    assert world.rows(listed) == [
        (1, "Store 1", "2026-11-01 12:00:00+00", False),
        (1, "New", "2026-11-03 12:00:00+00", True),
        (2, "Store 2", "2026-11-01 12:00:00+00", True),
    ]


@pytest.mark.long
def test_versions_really_occur(world: Any, make_order: Any) -> None:
    """Thirty orders of four versions each are the same after four increments as after a rebuild."""
    for night in range(4):
        world.land(
            "orders",
            [
                {
                    "id": i,
                    "at": 24 * night,
                    "document": make_order(i, status=f"s{(night + i) % 3}", tip=str(night // 2)),
                }
                for i in range(30)
            ],
        )
        world.build()
    before = world.contents()
    assert len(before["core.order_versions"]) == 120
    assert before["audit.status_transitions"]
    world.build(full=True)
    assert world.contents() == before


START = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
FEW: list[dict[str, Any]] = [
    {"status": "preparing"},
    {"status": "done", "tip": "1"},
    {"status": "done", "total_price": "14", "items": []},
    {"status": "done", "items": [{"id": 1, "product_id": 100, "quantity": 1, "price": "3", "modifiers": []}]},
]
SEEN = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["orders", "orders", "menus"]),
        "id": st.integers(1, 2),
        "at": st.one_of(st.none(), st.integers(0, 9)),
        "which": st.integers(0, 3),
    }
)
ORDER = (
    "order_id, status, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price, _payload_sha256"
)
LINE = "order_id, line_no, line_id, product_id, quantity, name, price, has_instructions"
PRICE = "menu_id, group_no, price_no, price_id, product_id, channel, price, delivery_price"
PAIRS = (
    (ORDER, "orders_as_of", "core.orders"),
    (LINE, "order_lines_as_of", "core.order_lines"),
    (PRICE, "menu_prices_as_of", "core.menu_prices"),
)


def _land(world: Any, makers: Any, seen: list[dict[str, Any]], until: int) -> None:
    make_order, make_menu, _ = makers
    for n, each in enumerate(seen):
        if each["at"] is not None and each["at"] > until:
            continue
        if each["kind"] == "orders":
            document = make_order(each["id"], **FEW[each["which"]])
        else:
            document = make_menu(each["id"], (100, 101, 102)[: each["which"]], p100=str(each["which"] % 2))
        source = "archive" if each["at"] is None else "live"
        verdict = {"id": each["id"], "at": each["at"], "document": document}
        world.land(each["kind"], [verdict], source, load_id=f"20261101T{n:012d}-abcdef")


def _prove(world_of: Any, makers: Any, seen: list[dict[str, Any]], until: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, replay = world_of(Path(folder, "whole")), world_of(Path(folder, "replay"))
        _land(whole, makers, seen, 99)
        whole.build()
        _land(replay, makers, seen, until)
        replay.build()
        copy = Path(folder, "copy.duckdb")
        shutil.copyfile(warehouse_file(whole.data), copy)
        with duckdb.connect(str(copy)) as con:
            create_macros(con)
            for columns, macro, table in PAIRS:
                found = con.execute(
                    f"select {columns} from {macro}(?)", [START + dt.timedelta(hours=until, minutes=30)]
                ).fetchall()
                assert sorted(found, key=repr) == sorted(replay.rows(f"select {columns} from {table}"), key=repr)


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(SEEN, min_size=1, max_size=12), st.integers(0, 9))
def test_as_of_is_a_replay(world_of: Any, makers: Any, seen: list[dict[str, Any]], until: int) -> None:
    """As of any time orders, lines and menu prices are those of a warehouse that saw nothing later."""
    _prove(world_of, makers, seen, until)


@pytest.mark.slow
@pytest.mark.duckdb2
def test_a_release_has_the_macros(world: Any, make_order: Any) -> None:
    """The released file has every macro, with a comment that says what it gives."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    release = publish(world.settings, world.build())
    with duckdb.connect(str(release.path / "ordermart.duckdb"), read_only=True) as con:
        row = con.execute("select count(*) from orders_as_of(timestamptz '2026-11-30')").fetchone()
        assert row == (1,)
        comments = con.execute(
            "select function_name, comment from duckdb_functions() "
            "where schema_name = 'main' and not internal order by 1"
        ).fetchall()
    assert comments == [(macro.name, macro.about) for macro in macros()]
