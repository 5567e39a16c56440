"""One change at a time, one of each kind that an increment knows: every table is as after a full build."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.data_folder import keep_behaviour
from pipelines.ledger import HEADER, import_totals, ledger_of
from pipelines.partner.behaviour import Counted
from pipelines.warehouse import catalogue
from pipelines.warehouse.rows.session import profiled
from tests.warehouse.conftest import World, menu, order, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[World], Any]


def _land(kind: str, *verdicts: dict[str, Any], source: str = "live") -> Change:
    return lambda world: world.land(
        kind, [dict(each) for each in verdicts], source, load_id="20261109T000000000000-ffffff"
    )


def _order(**fields: Any) -> Change:
    return _land("orders", {"id": 3, "at": 9, "document": order(3, **fields), "customer": "a"})


def _import_totals(world: World) -> None:
    file = world.data.parent / "totals.csv"
    file.write_text(f"{','.join(HEADER)}\n2026-11-02,1,1,13.5001,total_price,unmapped\n", encoding="utf-8")
    import_totals(ledger_of(world.data), file)


def _count_behaviour(world: World) -> None:
    at = dt.datetime(2026, 11, 9, tzinfo=dt.UTC)
    keep_behaviour(world.data, [Counted("order", "status", "200", 1, 1, 1, at, at)])


MISS = [{"id": 3, "at": 9 + n, "verdict": "missing"} for n in range(3)]
LINES = order(3)["items"]
CHANGES: dict[str, Change] = {
    # scope order, and rows kept by day
    "an order's status": _order(status="done"),
    "an order's day": _order(created_at="2026-12-24T10:00:00Z"),
    "an order without a day": _order(created_at=None),
    "an order's store": _order(store_id=1),
    "an order's amount": _order(tip="2.5"),
    "an order's line less": _order(items=LINES[:1]),
    "an order's delivery": _order(deliveries=[]),
    "an order's customer": _land("orders", {"id": 3, "at": 9, "document": order(3), "customer": "b"}),
    "an order seen again": _land(
        "orders", {"id": 3, "at": 9, "document": order(3), "verdict": "unchanged", "customer": "a"}
    ),
    "an order lost": _land("orders", *MISS),
    "an order lost and found": _land("orders", *MISS, {"id": 3, "at": 20, "document": order(3), "customer": "a"}),
    "an order refused": _land("orders", {"id": 3, "at": 9, "verdict": "quarantined", "reason": "x", "pointer": "/y"}),
    "a new order": _land("orders", {"id": 77, "at": 9, "document": order(77)}),
    "a customer's order from before": _land(
        "orders", {"id": 77, "at": 9, "document": order(77, created_at="2026-10-30T10:00:00Z"), "customer": "a"}
    ),
    "an archive from before": _land("orders", {"id": 3, "at": -9, "document": order(3, tip="1")}, source="archive"),
    "an archive without a time": _land(
        "orders", {"id": 3, "at": None, "document": order(3, tip="1")}, source="archive"
    ),
    # scope store
    "a store's clock": _land("stores", {"id": 1, "at": 9, "document": store(1, timezone="America/Lima")}),
    "a store's name": _land("stores", {"id": 1, "at": 9, "document": store(1, name="Other")}),
    "a store's currency": _land("stores", {"id": 1, "at": 9, "document": store(1, currency="PEN")}),
    "a store's menus": _land("stores", {"id": 1, "at": 9, "document": store(1, menu_ids=[])}),
    "a store not found": _land("stores", {"id": 1, "at": 9, "verdict": "missing"}),
    "a store seen again": _land("stores", {"id": 1, "at": 9, "document": store(1), "verdict": "unchanged"}),
    "a store's name, and all orders of a day elsewhere": lambda world: (
        CHANGES["a store's name"](world),
        world.land(
            "orders",
            [{"id": each, "at": 9, "document": order(each, created_at="2026-12-24T10:00:00Z")} for each in (3, 6)],
            load_id="20261109T000000000000-fffffe",
        ),
    ),
    # scope menu
    "a menu's price": _land("menus", {"id": 1, "at": 9, "document": menu(1, p100="9")}),
    "a menu's products": _land("menus", {"id": 1, "at": 9, "document": menu(1, (100,))}),
    "a menu from before the orders": _land("menus", {"id": 1, "at": -99, "document": menu(1, p100="9")}),
    # sources
    "a control total": _import_totals,
    "a control total, and an order's day": lambda world: (
        _import_totals(world),
        CHANGES["an order's day"](world),
    ),
    "the service's behaviour": _count_behaviour,
}


# Changes for the long lane: others of the list reach most of the same tables.
ALIKE = {
    "an order's amount",
    "an order's customer",
    "an order's delivery",
    "an order's store",
    "an order without a day",
    "an order seen again",
    "an order lost and found",
    "an order's line less",
    "an order's day",
    "a new order",
    "an archive from before",
    "an archive without a time",
    "a store's currency",
    "a store's menus",
    "a store seen again",
    "a store not found",
    "a store's name, and all orders of a day elsewhere",
    "a menu's products",
    "a menu from before the orders",
    "a control total",
    "a control total, and an order's day",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a built world: two stores, a menu, six orders on three days."""
    folder = tmp_path_factory.mktemp("base") / "world"
    world = World(folder)
    world.land("stores", [{"id": each, "document": store(each)} for each in (1, 2)])
    world.land("menus", [{"id": 1, "document": menu(1)}])
    world.land("orders", [{"id": each, "document": order(each), "customer": "a"} for each in range(1, 7)])
    world.build()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in ALIKE)) for n in CHANGES])
def test_one_change_gives_what_a_full_build_gives(name: str, base: Path, tmp_path: Path) -> None:
    """An increment about one change leaves every table as a full build makes it."""
    shutil.copytree(base, tmp_path / "world")
    world = World(tmp_path / "world")
    before = world.contents()
    CHANGES[name](world)
    assert not world.build().full
    after = world.contents()
    assert after != before
    world.build(full=True)
    assert {table for table, rows in world.contents().items() if after[table] != rows} == set()


@pytest.mark.slow
def test_another_tip_recomputes_what_the_architecture_says(world: World) -> None:
    """Of 200 orders one has another tip: the worked example has the numbers of tables by scope, and names them."""
    world.land("stores", [{"id": each, "document": store(each)} for each in (1, 2)])
    world.land("menus", [{"id": 1, "document": menu(1)}])
    world.land("orders", [{"id": each, "document": order(each, tip="0.00"), "customer": "a"} for each in range(1, 201)])
    world.build()
    world.land("orders", [{"id": 3, "at": 9, "document": order(3, tip="1.00"), "customer": "a"}])
    with profiled() as costs:
        assert not world.build().full
    scopes = {table.name: table.scope for table in catalogue.tables()}
    made = scopes.keys() & costs.keys()
    by_scope = Counter(scopes[name] for name in made)
    text = (Path(__file__).resolve().parents[2] / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    (said,) = re.findall(
        r"In total (\d+) of (\d+) are recomputed: (\d+) by the order, (\d+) by the day, (\d+) by the load, (\d+) of",
        text,
    )
    found = (len(made), len(scopes), *(by_scope[scope] for scope in ("order", "day", "load", "all")))
    assert tuple(map(int, said)) == found
    assert sum(found[2:]) == len(made)
    assert f"Of {len(scopes)} tables" in text
    recomputed = {"core.orders", "core.order_lines", "mart.orders", "mart.order_reconciliation", "core.order_versions"}
    recomputed |= {"audit.breaks", "mart.daily_store_sales", "mart.daily_reconciliations", "audit.vocabulary"}
    assert recomputed <= made
    assert not {"mart.product_mix", "workings.order_line_sums", "mart.products", "core.menus"} & made
