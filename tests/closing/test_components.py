"""Orders of closed days keep the components that their day was closed with, as they keep its rules."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.reconciliation import accept_breaks, list_breaks
from pipelines.finance.released import Selection
from pipelines.ledger import User

if TYPE_CHECKING:
    from pathlib import Path

DAY, AT, NEXT = "2026-10-31", "2026-10-31T10:00:00Z", "2026-11-20T10:00:00Z"
BAG = {"name": "bag", "constant": "1.00"}


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Close a day with a balanced order and one whose break was accepted; an open day has a balanced order, too."""
    books = books_of(tmp_path_factory.mktemp("components") / "books")
    books.set(formula=rules)
    for order_id, fields in {1: {}, 2: {"total_price": "9.99"}, 3: {"created_at": NEXT}}.items():
        books.land(order_id, **{"created_at": AT, "store_id": 1} | balanced | fields)
    books.publish()
    accept_breaks(books.settings, [2], "agreed", User(1, "Anne"))
    books.close(DAY)
    books.publish()
    return books


@pytest.fixture
def books(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


def breaks(books: Any) -> dict[int, str]:
    """Return the state of each break."""
    return {row["order_id"]: row["state"] for row in list_breaks(books.settings, Selection())}


@pytest.mark.long
def test_a_component_added_after_the_close_is_for_open_days(
    books: Any, rules: dict[str, str], balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """Closed orders stay balanced and accepted, late ones too; reopened, their day has the component."""
    books.set(formula=rules | {"component": [BAG]})
    books.land(4, hours[1], **{"created_at": AT, "store_id": 1} | balanced)
    books.publish()
    assert breaks(books) == {2: "accepted", 3: "open"}
    assert books.all("select order_id, name from workings.order_components") == [(3, "bag")]
    before = books.world.contents()
    books.publish(full=True)
    assert books.world.contents() == before
    books.reopen(DAY)
    books.publish()
    assert set(breaks(books)) == {1, 2, 3, 4}
    before = books.world.contents()
    books.publish(full=True)
    assert books.world.contents() == before


@pytest.mark.slow
def test_a_component_taken_away_after_the_close_stays_in_closed_days(books: Any, rules: dict[str, str]) -> None:
    """A day closed with it keeps it, by the ledger alone; so it does a factor of prices, and a step of totals."""
    given = [BAG, {"name": "net", "price_factor": "1"}, {"name": "coin", "step": "0.05"}]
    books.set(formula=rules | {"component": [each | {"from": "2026-11-01"} for each in given]})
    books.publish()
    books.close("2026-11-20")
    books.set(formula=rules)
    books.publish()
    assert books.all(
        "select order_id, amount, price_factor, step from workings.order_components order by component_no"
    ) == [
        (3, 1, None, None),
        (3, 0, 1, None),
        (3, 0, None, Decimal("0.05")),
    ]
    assert breaks(books) == {2: "accepted", 3: "open"}
