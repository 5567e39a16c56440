"""One body at a time: sums of money, times at the edges of the calendar, and the id of a refused body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture(scope="module")
def validator(configure: Callable[..., Settings], tmp_path_factory: pytest.TempPathFactory) -> Validator:
    """Return the validator of orders, with every default."""
    return Validator(configure(tmp_path_factory.mktemp("validator")), "orders")


def test_forms_of_a_document_are_one(validator: Validator, order: dict[str, Any]) -> None:
    """Compact, spaced, escaped and indented forms of an order give the same document."""
    order["dispatch_note"] = "naïve “quotes” & more"
    styles: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": False}]
    found = {validator.validate(json.dumps(order, **style).encode(), 7).sha256 for style in styles}
    assert len(found) == 1


def test_sums_are_exact(validator: Validator, order: dict[str, Any]) -> None:
    """Money is added up in decimals: no binary fraction is ever in between."""
    order["items"] = [order["items"][0] | {"price": 0.1, "modifiers": []}] * 3
    validated = validator.validate(json.dumps(order).encode())
    assert [str(each) for each in validated.sums] == ["51.00", "0.3", "0"]


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:30:00+01:00",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:30:00-01:00",
        "9999-12-31T23:30:00-01:00",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:30:00+01:00",
    ],
)
def test_times_at_both_edges_of_the_calendar_are_kept(validator: Validator, order: dict[str, Any], moment: str) -> None:
    """An offset can push a time of the first or last year out of it: the document is taken, the time is not stated."""
    assert validator.validate(json.dumps(order | {"created_at": moment}).encode(), 7)


def test_a_refused_menu_claims_the_id_below_what_holds_it(configure: Callable[..., Settings], tmp_path: Path) -> None:
    """The first required field of its shape: not the object that has it."""
    assert Validator(configure(tmp_path), "menus").own_id(b'{"menu": {"id": 7}, "id": 8}') == 7
