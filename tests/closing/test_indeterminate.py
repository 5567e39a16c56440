"""A counted order that no rule in force explains blocks a close like an open break."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.finance.released import one_day

if TYPE_CHECKING:
    from pathlib import Path

DAY, AT = "2026-10-31", "2026-10-31T10:00:00Z"
CHECKED = 24
LATER = dt.datetime(2026, 11, 9, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Publish two orders that rules of the settings explain, and two of a platform whose subtotals none explains."""
    books = books_of(tmp_path_factory.mktemp("indeterminate") / "books")
    web = {"rule_target": "subtotal", "rule": rules["subtotal_rule"], "platform": "web"}
    books.set(formula={"total_rule": rules["total_rule"], "rule": [web]})
    books.world.land("stores", [{"id": 1, "at": CHECKED, "document": books.store(1, currency="EUR")}])
    placed = balanced | {"created_at": AT, "store_id": 1}
    for order_id, fields in {
        1: {"platform": "web"},
        2: {"platform": "web"},
        3: {"platform": "kiosk", "subtotal_price": "699", "total_price": "700"},
        4: {"platform": "kiosk", "subtotal_price": "69", "total_price": "70"},
        5: {"platform": "kiosk", "status": "refused"},
    }.items():
        books.land(order_id, CHECKED, **placed | fields)
    books.publish()
    return books


@pytest.fixture
def books(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


def found(books: Any) -> list[str]:
    """Return the blockers for closing the day."""
    return closing.check(books.settings, one_day(DAY), None, LATER).against


@pytest.mark.slow
def test_indeterminate_orders_are_named_with_count_amount_and_scope(books: Any) -> None:
    """Only the counted ones of the platform without a rule; the sentence says which orders would decide."""
    (sentence,) = found(books)
    assert sentence.startswith(
        "indeterminate, no rule in force explains them: orders 2 (3, 4), total_price 770.00 EUR; subtotal of all orders"
    )
    assert "decided by" in sentence
    assert "more orders needed" in sentence


@pytest.mark.slow
def test_breaks_elsewhere_block_beside_indeterminate_orders(books: Any, balanced: dict[str, Any]) -> None:
    """A small break on a platform with a rule does not stand for the large amounts of one without."""
    books.land(1, CHECKED + 1, **balanced | {"created_at": AT, "store_id": 1, "platform": "web", "tip": "0.99"})
    books.publish()
    heads = sorted(sentence.partition(":")[0] for sentence in found(books))
    assert heads == ["breaks above the tolerance", "indeterminate, no rule in force explains them"]


@pytest.mark.slow
def test_exceptions_record_count_and_amount_of_indeterminate_orders(books: Any) -> None:
    """They block a close; accepted with a reason, the entry has their count and amount by currency."""
    refused = closing.close(books.settings, one_day(DAY), now=LATER)
    assert (refused.entry, refused.blockers) == (None, found(books))
    done = closing.close(books.settings, one_day(DAY), exceptions="agreed", now=LATER)
    assert done.entry
    assert done.entry.body["exceptions"] == {"reason": "agreed", "blockers": refused.blockers}
    assert done.entry.body["indeterminate"] == {"EUR": {"order_count": 2, "total_price": "770.0000"}}


@pytest.mark.slow
def test_max_indeterminate_allows_as_many_orders(books: Any) -> None:
    """Two are allowed: no blocker, and the entry says all the same that they are indeterminate; one is too few."""
    books.set(closing={"max_indeterminate": 1})
    assert len(found(books)) == 1
    books.set(closing={"max_indeterminate": 2})
    assert found(books) == []
    done = closing.close(books.settings, one_day(DAY), now=LATER)
    assert done.entry
    assert done.entry.body["indeterminate"]["EUR"]["order_count"] == 2
    assert done.entry.body["exceptions"] is None


@pytest.mark.slow
def test_orders_landed_but_not_built_block_a_close(books: Any, balanced: dict[str, Any]) -> None:
    """A landed order that the release lacks could be of the day; a document seen again is nothing new."""
    before = found(books)
    books.world.land(
        "orders", [{"id": 1, "at": CHECKED + 1, "verdict": "unchanged"}], load_id="20160102T000000000001-abcdef"
    )
    assert found(books) == before
    books.land(6, CHECKED + 1, **balanced | {"created_at": AT, "store_id": 1, "platform": "web"})
    assert set(found(books)) - set(before) == {"landed and not in the release, orders: 1 (6); run `ordermart build`"}
    books.publish()
    assert found(books) == before
