"""The macros of a release answer as of a time what the tables said when nothing later had been observed."""

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

from pipelines.warehouse import publish, warehouse_file
from pipelines.warehouse.catalogue.macros import create_macros, macros

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
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(SEEN, min_size=1, max_size=12), st.integers(0, 9))
def test_as_of_is_a_replay(world_of: Any, makers: Any, seen: list[dict[str, Any]], until: int) -> None:
    """As of any time orders, lines and menu prices are those of a warehouse that saw nothing later."""
    _prove(world_of, makers, seen, until)


@pytest.mark.slow
@pytest.mark.sample
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
