"""Tables that read audit.findings see the findings of their own build, in a full build and in an increment."""

from __future__ import annotations

from typing import Any

QUESTION = "select evidence from audit.questions where question = 'product_ids'"


def renamed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a menu in which every product has another name."""
    products = {key: product | {"name": f"other {product['name']}"} for key, product in document["products"].items()}
    return document | {"products": products}


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
