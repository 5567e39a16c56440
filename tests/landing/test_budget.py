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

    from pipelines.landing.raw_rows import LoadSummary
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


def test_an_order_has_so_many_parts(small: Settings, order: dict[str, Any]) -> None:
    """Lines, modifiers and deliveries count together; the limit itself is not over it."""
    validator = Validator(small, "orders")
    line = order["items"][0] | {"modifiers": []}
    exact = order | {"items": [line] * 6, "deliveries": []}
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


def menu_of(products: dict[int, list[int | None]], modifiers: dict[int, list[int | None]]) -> dict[str, Any]:
    """Return a menu of references: product or modifier → modifiers below it."""

    def entries(of: dict[int, list[int | None]], member: str) -> dict[str, Any]:
        return {
            str(id_): {member: [None if each is None else {"modifier_id": each} for each in below]}
            for id_, below in of.items()
        }

    return {
        "menu": {"id": 1},
        "products": entries(products, "modifiers"),
        "modifiers": entries(modifiers, "children"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("products", "modifiers", "refused"),
    [
        ({5: [1]}, {level: [level + 1] for level in range(1, 32)}, None),  # 32 deep
        ({5: [1]}, {level: [level + 1] for level in range(1, 33)}, "/products/5"),
        ({5: [1]}, {level: [level + 1] for level in range(1, 20_000)}, "/products/5"),
        ({5: [1]}, {level: [level + 1] * 2 for level in range(1, 31)}, "/products/5"),  # 2 ** 31 paths
        ({5: [1], 6: [99, None]}, {1: [2, 2], 2: [3]}, None),
        ({5: [1]}, {1: [*range(2, 10_001)]}, None),
        ({5: [1]}, {1: [*range(2, 10_002)]}, "/products/5"),
        ({5: [1]}, {1: [2], 2: [1], 3: [3]}, None),  # cycles
        ({5: [1]}, {each: [*range(1, 9)] for each in range(1, 9)}, "/products/5"),  # 8! paths at least
        ({5: [1]}, {1: [*range(1, 10_002)]}, "/products/5"),
        ({each: [1] for each in range(5_000)}, {1: [*range(2, 101)]}, None),  # 500,000 of the menu
        ({each: [1] for each in range(5_001)}, {1: [*range(2, 101)]}, "/products"),
    ],
    ids=range(12),
)
def test_a_menu_has_so_many_paths(
    settings: Settings,
    products: dict[int, list[int | None]],
    modifiers: dict[int, list[int | None]],
    refused: str | None,
) -> None:
    """Paths below a product, their length and the paths of the whole menu are limited, as in core.modifier_paths."""
    expected = f"too_many_parts at {refused}" if refused else None
    assert reason(Validator(settings, "menus"), menu_of(products, modifiers)) == expected


@pytest.mark.promise(1)
def test_the_others_of_a_load_are_taken(land: Callable[..., LoadSummary], order: dict[str, Any]) -> None:
    """An order of ten thousand lines costs only itself, under the default limits."""
    heavy = order | {"id": 8, "items": [{}] * 10_001}
    summary = land("orders", order | {"id": 7}, heavy, order | {"id": 9})
    assert (summary.counts["accepted"], summary.counts["quarantined"]) == (2, 1)
    assert [(refusal.id, refusal.reason) for refusal in summary.quarantined] == [(8, "too_many_parts")]
    deep = menu_of({5: [1]}, {level: [level + 1] for level in range(1, 40)})
    summary = land("menus", deep | {"menu": {"id": 2}}, menu_of({5: [1]}, {}))
    assert [(refusal.id, refusal.pointer) for refusal in summary.quarantined] == [(2, "/products/5")]
    assert summary.counts["accepted"] == 1
