"""What an increment recomputes besides what changed: after a price, a rule, a compared order, a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.rows.fresh_rows import Making

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.warehouse.catalogue import Table

MATCHES = "select order_id, price_match from mart.price_variances where line_no = 1 and modifier_no is null order by 1"
PLACES = "select menu_match from mart.price_variances where line_no = 1 and modifier_no is null order by order_id"


# The sentence on a population changes with each order that is counted there.
COUNTED = {"sentence", "deciding_cases", "min_fit_rate", "candidate_count", "nearest_rival"}


def test_counts_of_the_evidence_reach_no_order() -> None:
    """Orders read which rule is in force, and not how many orders show it: that another order fits touches none."""
    populations = catalogue.table("audit.formula_populations")
    counted = COUNTED | {each.name for each in populations.columns if each.name.endswith("_count")}
    readers = [each for each in catalogue.tables() if each.scope == "order" and populations.name in each.depends_on]
    assert "audit.order_rules" in {each.name for each in readers}
    for each in readers:
        assert populations.name not in each.reads.stars, f"{each.name} reads all columns"
        assert not counted & each.reads.names, each.name


@pytest.fixture
def remade(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give a list in which each increment notes how many orders it compares with menus again."""
    counts: list[int] = []
    plain = Making.make

    def make(self: Making, table: Table, keys: str | None) -> int:
        if table.name == "mart.price_variances" and keys is not None:
            counts.extend(self.con.execute(f"select count(distinct order_id) from {keys}").fetchone() or ())
        return plain(self, table, keys)

    monkeypatch.setattr(Making, "make", make)
    return counts


@pytest.fixture
def sold(world: Any, makers: Any) -> Any:
    """Give a world of one store, its menu seen at noon of the 1st, and an order a day from the 1st to the 6th."""
    make_order, make_menu, make_store = makers
    world.land("stores", [{"id": 1, "document": make_store(1)}])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    orders = [
        make_order(day, store_id=1, created_at=f"2026-11-{day:02d}T{13 if day > 1 else 10}:00:00Z")
        for day in range(1, 7)
    ]
    world.land("orders", [{"id": each["id"], "at": 150, "document": each} for each in orders])
    assert world.build().full
    assert world.rows(MATCHES) == [(day, "price") for day in range(1, 7)]
    assert [match for (match,) in world.rows(PLACES)] == ["first_seen_later", *["unique"] * 5]
    return world


@pytest.mark.long
def test_a_new_price_touches_no_older_order(sold: Any, makers: Any, remade: list[int]) -> None:
    """Neither the same menu seen again nor a price first seen after the last order recomputes an order."""
    make_order, make_menu, _ = makers
    sold.land("menus", [{"id": 1, "at": 100, "document": make_menu(1)}])
    sold.land("menus", [{"id": 1, "at": 151, "document": make_menu(1, p100="9", p101="9")}])
    assert not sold.build().full
    assert remade == []
    late = make_order(8, store_id=1, created_at="2026-11-08T13:00:00Z")
    sold.land("orders", [{"id": 8, "at": 200, "document": late}])
    assert not sold.build().full
    assert remade == [1]
    assert sold.rows(MATCHES)[-2:] == [(6, "price"), (8, "neither")]


@pytest.mark.long
def test_a_price_touches_the_orders_of_its_time(sold: Any, makers: Any, remade: list[int]) -> None:
    """A price that was another one from the 2nd to the 4th touches the orders since of products that had it."""
    changed, back = makers[1](1, p100="9"), makers[1](1)
    sold.land("menus", [{"id": 1, "at": 24, "document": changed}, {"id": 1, "at": 72, "document": back}])
    assert not sold.build().full
    assert remade == [3]  # the 2nd, 4th and 6th sell product 100: at another price, then at one first seen later
    seen = (
        "select day(menu_seen_at) from mart.price_variances where line_no = 1 and modifier_no is null order by order_id"
    )
    assert sold.rows(seen) == [(1,), (2,), (1,), (4,), (1,), (4,)]
    matches = [match for _, match in sold.rows(MATCHES)]
    assert matches == ["price", "neither", "price", "price", "price", "price"]
    before = sold.contents()
    assert sold.build(full=True).full
    assert sold.contents() == before


@pytest.mark.long
def test_orders_from_before_their_menus(world: Any, makers: Any, remade: list[int]) -> None:
    """Orders are compared again when a menu of theirs is first seen, or its first prices are; not when it changes."""
    make_order, make_menu, make_store = makers
    orders = [make_order(n, store_id=1, created_at="2026-11-01T10:00:00Z") for n in (1, 2)]
    orders.append(orders[0] | {"id": 3, "store_id": 2, "items": [{"product_id": 102, "price": "5.25"}]})
    world.land("stores", [{"id": each, "document": make_store(each, menu_ids=[each])} for each in (1, 2)])
    world.land("orders", [{"id": each["id"], "at": 50, "document": each} for each in orders])
    assert world.build().full
    assert world.rows(PLACES) == [("menu_unknown",)] * 3
    for menu_id, hour, price, compared, matches in (
        (1, 60, "5.25", [2], ["price", "price", "indeterminate"]),  # the first of store 1: its orders alone
        (1, 70, "9", [], ["price", "price", "indeterminate"]),  # what it asks later changes none
        (2, 80, "9", [1], ["price", "price", "neither"]),  # the first of store 2, at another price
        (1, 55, "8", [2], ["neither", "neither", "neither"]),  # it was seen earlier, and dearer
    ):
        remade.clear()
        products = (100, 101) if menu_id == 1 else (102,)
        menu = make_menu(menu_id, products, **{f"p{product}": price for product in products})
        world.land("menus", [{"id": menu_id, "at": hour, "document": menu}])
        assert not world.build().full
        assert (remade, [match for _, match in world.rows(MATCHES)]) == (compared, matches)
    assert world.rows(PLACES) == [("first_seen_later",)] * 3
    before = world.contents()
    assert world.build(full=True).full
    assert world.contents() == before


@pytest.mark.long
def test_what_is_known_of_a_store(sold: Any, makers: Any, remade: list[int]) -> None:
    """A menu seen earlier than known touches all orders, which say when it was seen; another menu of the store too."""
    sold.land("menus", [{"id": 1, "at": -4, "document": makers[1](1)}])
    assert not sold.build().full
    assert remade == [6]
    assert sold.rows(MATCHES)[0] == (1, "price")
    sold.land("menus", [{"id": 2, "at": 1, "document": makers[1](2, p100="1", p101="1")}])
    sold.land("stores", [{"id": 1, "at": 151, "document": makers[2](1, menu_ids=[2])}])
    assert not sold.build().full
    assert remade == [6, 6]
    before = sold.contents()
    assert sold.build(full=True).full
    assert sold.contents() == before


@pytest.mark.long
def test_a_menu_not_seen_yet(sold: Any, makers: Any, remade: list[int]) -> None:
    """What may stand on a menu that nobody saw is unknown until it is seen; only orders since then are touched."""
    make_order, make_menu, make_store = makers
    sold.land("stores", [{"id": 1, "at": 151, "document": make_store(1, menu_ids=[1, 2])}])
    strangers = [
        make_order(day, store_id=1, created_at=f"2026-11-{day:02d}T13:00:00Z", items=[{"product_id": 5}])
        for day in (7, 8)
    ]
    sold.land("orders", [{"id": each["id"], "at": 200, "document": each} for each in strangers])
    assert not sold.build().full
    assert sold.rows(PLACES)[6:] == [("menu_unknown",)] * 2
    remade.clear()
    sold.land("menus", [{"id": 2, "at": 160, "document": make_menu(2, p100="1", p101="1")}])
    assert not sold.build().full
    assert remade == [2]  # the one since then, and the one from before the first menu, compared with both
    assert sold.rows(PLACES)[6:] == [("menu_unknown",), ("none",)]
    before = sold.contents()
    assert sold.build(full=True).full
    assert sold.contents() == before


USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"


def telling(make_order: Any, order_id: int, subtotal: str) -> dict[str, Any]:
    """Return an order that tells every rule from every other; 18.50 is its subtotal by the usual one."""
    document: dict[str, Any] = make_order(
        order_id, subtotal_price=subtotal, loyalty_discount="0.5", total_price="19.0001"
    )
    document["items"][1]["modifiers"] = []
    return document


@pytest.mark.long
def test_a_rule_comes_and_goes(tmp_path: Path, world_of: Callable[..., Any], make_order: Any) -> None:
    """Lines of old orders get amounts when a third order bears a rule out, and lose them when it is refuted."""
    world = world_of(tmp_path, ORDERMART_FORMULA__MIN_DISTINGUISHING_ORDERS="3")
    amounts = "select order_id, line_amount::varchar from mart.order_lines order by all"
    verdicts = "select verdict, count(*) from mart.order_reconciliation group by all"

    def land(*orders: tuple[int, str], at: int) -> None:
        world.land("orders", [{"id": i, "at": at, "document": telling(make_order, i, s)} for i, s in orders])

    land((1, "18.50"), (2, "18.50"), at=0)
    assert world.build().full
    assert {row[1] for row in world.rows(amounts)} == {None, "2.0000"}  # one unit without modifiers: all agree
    land((3, "18.50"), at=1)
    assert not world.build().full
    assert world.rows(amounts) == [(i, amount) for i in (1, 2, 3) for amount in ("16.5000", "2.0000")]
    assert world.rows("select distinct subtotal_rule from audit.order_rules") == [(USUAL,)]
    assert world.rows(verdicts) == [("balanced", 3)]
    before = world.contents()
    assert world.build(full=True).full
    assert world.contents() == before
    land((3, "99"), (2, "98"), (1, "97"), at=2)
    assert not world.build().full
    assert {row[1] for row in world.rows(amounts)} == {None}


REPEATS = "select order_id, original_order_id from audit.possible_duplicate_orders order by all"
AT = "2026-11-01T10:00:00Z"
COVERAGE = "select known_count, fetched_count, not_found_count, quarantined_count from audit.coverage order by all"


@pytest.mark.slow
def test_orders_alike_follow_one_that_changed(tmp_path: Path, world_of: Callable[..., Any], make_order: Any) -> None:
    """An order repeats another one, or none, once the one that it repeated has other lines or another customer."""
    world = world_of(tmp_path)

    def land(order_id: int, minute: int, customer: str, at: int, product: int = 100) -> None:
        document = make_order(order_id, store_id=1, created_at=f"2026-11-01T10:{minute:02d}:00Z")
        document["items"][0]["product_id"] = product
        world.land("orders", [{"id": order_id, "at": at, "customer": customer, "document": document}])

    for order_id, minute, customer in ((1, 0, "a"), (2, 5, "a"), (3, 8, "a"), (4, 9, "b")):
        land(order_id, minute, customer, at=0)
    assert world.build().full
    assert world.rows(REPEATS) == [(2, 1), (3, 2)]
    land(2, 5, "a", at=1, product=101)
    assert not world.build().full
    assert world.rows(REPEATS) == [(3, 1)]
    land(1, 0, "b", at=2, product=101)
    land(2, 5, "b", at=2)
    assert not world.build().full
    assert world.rows(REPEATS) == [(4, 2)]
    found = "select entity_id from audit.findings where check_name = 'audit.possible_duplicate_orders__are_none'"
    assert world.rows(found) == [(4,)]
    before = world.contents()
    assert world.build(full=True).full
    assert world.contents() == before


@pytest.mark.slow
def test_an_asking_is_covered_though_the_order_did_not_change(
    tmp_path: Path, world_of: Callable[..., Any], make_order: Any
) -> None:
    """A day's coverage follows what came of asking for its orders last: a refusal, a 404."""
    world = world_of(tmp_path)
    world.land("orders", [{"id": n, "at": 0, "document": make_order(n, store_id=1, created_at=AT)} for n in (1, 2, 3)])
    world.build()
    assert world.rows(COVERAGE) == [(3, 3, 0, 0)]
    refused = {"verdict": "quarantined", "reason": "wrong_type", "pointer": "/items/0/price"}
    world.land("orders", [{"id": 1, "at": 1} | refused, {"id": 2, "at": 1, "verdict": "missing"}])
    assert not world.build().full
    assert world.rows(COVERAGE) == [(3, 1, 1, 1)]
    before = world.contents()
    assert world.build(full=True).full
    assert world.contents() == before


QUESTION = "select evidence from audit.questions where question = 'product_ids'"


def renamed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a menu in which every product has another name."""
    products = {key: product | {"name": f"other {product['name']}"} for key, product in document["products"].items()}
    return document | {"products": products}


@pytest.mark.slow
def test_a_question_counts_the_findings_of_its_own_build(world: Any, makers: Any) -> None:
    """A second menu names products differently: the increment that finds it says so, as a rebuild does."""
    make_order, make_menu, make_store = makers
    world.land("stores", [{"id": 1, "document": make_store(1)}])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    world.land("orders", [{"id": 1, "at": 150, "document": make_order(1, store_id=1)}])
    assert world.build().full
    before = world.rows(QUESTION)
    world.land("menus", [{"id": 2, "at": 200, "document": renamed(make_menu(2))}])
    assert not world.build().full
    found = world.rows(
        "select count(*) from audit.findings where check_name = 'core.products__have_one_name_across_menus'"
    )
    assert found[0][0] > 0
    after = world.rows(QUESTION)
    assert after != before
    contents = world.contents()
    assert world.build(full=True).full
    assert world.rows(QUESTION) == after
    assert world.contents() == contents
    world.land("menus", [{"id": 2, "at": 300, "document": make_menu(2)}])
    assert not world.build().full
    assert world.rows(QUESTION) == before
