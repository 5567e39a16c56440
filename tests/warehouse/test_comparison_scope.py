"""What compares orders with each other follows when one of them changes, though the others did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
