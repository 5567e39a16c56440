"""Joins that analysts may rely on keep rows one for one, in a world made to multiply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.catalogue import joins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.warehouse.contracts import Join

KEEPING = [join for join in joins() if join.keeps]
MULTIPLYING = [join for join in joins() if not join.keeps]

# Two stores with two menus each, one of them shared; product 5 stands in all menus, twice in each; modifier 1 is below
# every product, and reached by two ways.


def menu(menu_id: int) -> dict[str, Any]:
    """Return a menu with products 5 and 6, each priced in two groups, and modifiers 1 to 3."""
    prices = [{"price_id": n, "product_id": n, "price": "2", "delivery_price": "3"} for n in (5, 6)]
    references = [{"modifier_id": 1, "price": "0"}, {"modifier_id": 2, "price": "0"}]
    groups = [{"id": n, "name": "Group", "prices": prices} for n in (1, 2)]
    return {
        "menu": {"id": menu_id, "name": f"Menu {menu_id}", "price_groups": groups},
        "products": {str(n): {"name": f"Product {n}", "modifiers": references} for n in (5, 6)},
        "modifiers": {
            "1": {"name": "One", "children": [{"modifier_id": 3, "price": "1"}]},
            "2": {"name": "Two", "children": [{"modifier_id": 1, "price": "1"}]},
            "3": {"name": "Three", "children": []},
        },
    }


def order(order_id: int) -> dict[str, Any]:
    """Return an order with two lines of product 5, each with modifier 1 twice, and two deliveries."""
    item = {
        "product_id": 5,
        "quantity": 2,
        "price": "2",
        "modifiers": [{"id": 1, "price": "1"}, {"id": 1, "price": "1"}],
    }
    return {
        "id": order_id,
        "store_id": order_id % 2 + 1,
        "created_at": f"2026-11-0{order_id}T12:00:00Z",
        "total_price": "9",
        "items": [item, item],
        "deliveries": [{"id": 1}, {"id": 1}],
    }


@pytest.fixture(scope="module")
def con(
    tmp_path_factory: pytest.TempPathFactory, world_of: Callable[[Path], Any]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a warehouse that was built from such menus and orders."""
    world = world_of(tmp_path_factory.mktemp("joins"))
    stores = [{"id": n, "name": f"Store {n}", "menu_ids": [10, 10 + n]} for n in (1, 2)]
    world.land("stores", [{"id": each["id"], "document": each} for each in stores])
    world.land("menus", [{"id": n, "document": menu(n)} for n in (10, 11, 12)])
    orders = [{"id": n, "document": order(n), "absences": ["tip=absent"]} for n in range(1, 5)]
    world.land("orders", [*orders, {"id": 9, "verdict": "quarantined", "reason": "wrong_type"}])
    for hour, (status, total) in enumerate((("sent", "8"), ("done", "8")), 1):
        changed = order(1) | {"status": status, "total_price": total, "items": [order(1)["items"][0]] * 3}
        world.land("orders", [{"id": 1, "at": hour, "document": changed}])
    build(world.settings)
    with duckdb.connect(str(warehouse_file(world.data)), read_only=True) as connection:
        yield connection


def rows(con: duckdb.DuckDBPyConnection, join: Join) -> tuple[int, int, int]:
    """Return how many rows the left table has, how many the join has, and how many of these found something."""
    using = " and ".join(f"l.{column} = r.{column}" for column in join.on)
    found = con.execute(
        f"""
        select (select count(*) from {join.left}), count(*), count(r.{join.on[0]})
        from {join.left} as l left join {join.right} as r on {using}
        """
    ).fetchone()
    assert found is not None
    return found


EMPTY_HERE = "audit.personal_data_changes"  # no order of this world changed in personal data alone


@pytest.mark.slow
@pytest.mark.parametrize("join", KEEPING, ids=lambda join: f"{join.left} to {join.right}")
def test_rows_stay_one_for_one(con: duckdb.DuckDBPyConnection, join: Join) -> None:
    """The join has as many rows as its left table, and finds what it looks for."""
    left, joined, found = rows(con, join)
    assert joined == left
    assert found > 0 or join.left == EMPTY_HERE
    # Whatever the data: the right table's key, which a build checks to be unique, is among the columns.
    assert set(catalogue.table(join.right).key) <= set(join.on)


@pytest.mark.slow
@pytest.mark.parametrize("join", MULTIPLYING, ids=lambda join: f"{join.left} to {join.right}")
def test_the_dictionary_warns_of_joins_that_do_multiply(con: duckdb.DuckDBPyConnection, join: Join) -> None:
    """Each join that the dictionary warns of does multiply rows, so that the warning is no rumour."""
    left, joined, _ = rows(con, join)
    assert joined > left
