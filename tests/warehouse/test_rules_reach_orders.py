"""A rule that comes into force, or goes, reaches the orders that did not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"


def telling(make_order: Any, order_id: int, subtotal: str) -> dict[str, Any]:
    """Return an order that tells every rule from every other; 18.50 is its subtotal by the usual one."""
    document: dict[str, Any] = make_order(
        order_id, subtotal_price=subtotal, loyalty_discount="0.5", total_price="19.0001"
    )
    document["items"][1]["modifiers"] = []
    return document


@pytest.mark.slow
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
