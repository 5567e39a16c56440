"""A document that would make a build slow for all is refused alone, however few bytes it has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.landing import LoadSummary
    from pipelines.settings import Settings


def reason(validator: Validator, document: dict[str, Any]) -> str | None:
    """Return why a document is refused; None if it is not."""
    try:
        validator.validate(json.dumps(document).encode())
    except InvalidDocumentError as error:
        return str(error)
    return None


@pytest.fixture
def small(configure: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Give settings under which documents have few parts."""
    return configure(tmp_path, "[landing]\nmax_order_parts = 6\nmax_menu_parts = 1200\nmax_store_menus = 3\n")


@pytest.mark.parametrize("unknown", [{}, {"loyalty": 1}], ids=["quick path", "walk"])
def test_an_order_has_so_many_parts(small: Settings, order: dict[str, Any], unknown: dict[str, Any]) -> None:
    """Lines, modifiers and deliveries count together, on both paths; the limit itself is not over it."""
    validator = Validator(small, "orders")
    line = order["items"][0] | {"modifiers": []}
    exact = order | unknown | {"items": [line] * 6, "deliveries": []}
    assert reason(validator, exact) is None
    assert reason(validator, exact | {"deliveries": order["deliveries"][:1]}) == "too_many_parts at the whole body"
    assert reason(validator, exact | {"items": [line] * 7}) == "too_many_parts at the whole body"
    assert reason(validator, exact | {"items": [None] * 7}) == "too_many_parts at the whole body"


def test_a_store_names_so_many_menus(small: Settings) -> None:
    """A record that names a thousand menus causes no thousand requests."""
    validator = Validator(small, "stores")
    assert reason(validator, {"id": 1, "menu_ids": [1, 2, 3]}) is None
    assert reason(validator, {"id": 1, "menu_ids": [1, 2, 3, 4]}) == "too_many_parts at the whole body"


def test_a_menu_has_so_many_parts_and_prices_of_a_product(small: Settings) -> None:
    """All parts of a menu count together; of one product a thousand prices are taken, over all groups."""

    def menu(*prices: list[int | None]) -> dict[str, Any]:
        groups = [
            {"id": at, "prices": [None if product is None else {"product_id": product} for product in group]}
            for at, group in enumerate(prices)
        ]
        return {"menu": {"id": 1, "price_groups": [None, *groups]}, "products": {}, "modifiers": {}}

    validator = Validator(small, "menus")
    assert reason(validator, menu([7] * 600, [7] * 400, [None])) is None
    assert reason(validator, menu([7] * 600, [7] * 401)) == "too_many_parts at /menu/price_groups"
    assert reason(validator, menu(list(range(1198)))) is None
    assert reason(validator, menu(list(range(1199)))) == "too_many_parts at the whole body"


def test_the_others_of_a_load_are_taken(land: Callable[..., LoadSummary], order: dict[str, Any]) -> None:
    """An order of ten thousand lines costs only itself, under the default limits."""
    heavy = order | {"id": 8, "items": [{}] * 10_001}
    summary = land("orders", order | {"id": 7}, heavy, order | {"id": 9})
    assert (summary.counts["accepted"], summary.counts["quarantined"]) == (2, 1)
    assert [(refusal.id, refusal.reason) for refusal in summary.quarantined] == [(8, "too_many_parts")]
