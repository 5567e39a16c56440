"""An id that comes back for another order: the first one is held in its day until a person decides."""

from __future__ import annotations

from typing import Any

import pytest

A, B, C = (
    {"created_at": f"2026-{month:02}-03T12:00:00Z", "store_id": store, "total_price": f"{store}00"}
    for month, store in ((10, 1), (11, 2), (12, 3))
)
CUSTOMERS = {"100": "a", "200": "b", "300": "c"}
CONTACTS = ["user_email", "user_phone"]
# by order: what came of it, night by night, and what counts in the end
STORIES: dict[int, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    1: ([A, B], A),
    2: ([A, A | {"status": "done"}, B], A | {"status": "done"}),
    3: ([A, B, B | {"status": "done"}, B], A),
    4: ([A, B, A, A | {"status": "done"}], A | {"status": "done"}),
    5: ([A, B, A, C], A),
    6: ([A, B, C, B], A),
    7: ([A, A | {"created_at": B["created_at"]}, C], A | {"created_at": B["created_at"]}),  # no other store, no contact
    8: ([A, A | {"created_at": None}, A | {"store_id": 2}], A | {"store_id": 2}),
    9: ([A, A | {"created_at": "2026-10-03T14:00:00+02:00", "store_id": 2}], A | {"created_at": A["created_at"]}),
    10: ([A, A | {"created_at": B["created_at"], "tip": "5"}], A),  # with other contacts, of the same store
    11: ([A, B, B, B, A], A),
    12: ([A, B], B),  # decided
}
STORIES[9] = (STORIES[9][0], STORIES[9][0][1])  # one instant, written twice
HELD = {1, 2, 3, 5, 6, 7, 10}
SHOWN = """
    select order_id, strftime(created_at, '%m'), store_id, total_price, tip, status, customer_key
    from core.orders order by 1
"""
FOUND = "select entity_id from audit.findings where check_name = 'core.order_changes__are_of_one_order'"


def _document(makers: Any, order_id: int, given: dict[str, Any]) -> dict[str, Any]:
    return makers[0](order_id, **({"status": "preparing", "tip": "0"} | given))


def _verdict(makers: Any, order_id: int, story: list[dict[str, Any]], night: int) -> dict[str, Any]:
    document = _document(makers, order_id, story[night])
    before = story[night - 1] if night else story[night]
    is_other = story[night]["total_price"] != before["total_price"] or story[night].get("tip") != before.get("tip")
    return {
        "id": order_id,
        "at": 24 * night,
        "document": document,
        "customer": CUSTOMERS[story[night]["total_price"]],
        "personal": CONTACTS if is_other else [],
    }


@pytest.mark.slow
def test_first_order_is_held_until_a_person_decides(world_of: Any, makers: Any, tmp_path: Any) -> None:
    """Whatever comes of the id, night by night or at once, by increments as by a rebuild."""
    world = world_of(tmp_path / "world", ORDERMART_CLOSING__REPLACED_ORDERS="[12]")
    for store_id in (1, 2, 3):
        world.land("stores", [{"id": store_id, "document": makers[2](store_id)}])
    nights = [
        [_verdict(makers, id_, story, night) for id_, (story, _) in STORIES.items() if night < len(story)]
        for night in range(5)
    ]
    for land in (nights[0], nights[1], [verdict for night in nights[2:] for verdict in night]):
        world.land("orders", land)
        assert world.build().full == (land is nights[0])
    shown = {row[0]: row for row in world.rows(SHOWN)}
    for id_, (_, right) in STORIES.items():
        document = _document(makers, id_, right)
        _, month, store_id, total, tip, status, customer = shown[id_]
        assert (id_, month, store_id) == (id_, right["created_at"][5:7], right["store_id"])
        assert (f"{total:.0f}", f"{tip:.0f}", status) == (right["total_price"], document["tip"], document["status"])
        assert customer == CUSTOMERS[right["total_price"]]
    assert {id_ for (id_,) in world.rows(FOUND)} == HELD | {4, 11}
    (sums,) = world.rows("select sum(total_price), sum(order_count) from mart.daily_store_sales")
    assert sums == (11 * 100 + 200, 12)
    # one is seen again, one is gone, of one an older document comes late
    world.land("orders", [{"id": 3, "at": 130, "document": _document(makers, 3, B), "verdict": "unchanged"}])
    world.land("orders", [{"id": 1, "at": 140 + 2 * hour, "verdict": "missing"} for hour in range(3)])
    late = {"id": 2, "at": 36, "document": _document(makers, 2, C), "customer": "c", "personal": CONTACTS}
    world.land("orders", [late])
    assert not world.build().full
    assert {row[0]: row for row in world.rows(SHOWN)} == shown
    assert world.rows("select order_id from core.orders where is_deleted") == [(1,)]
    before = world.contents()
    world.build(full=True)
    after = world.contents()
    assert [name for name in after if after[name] != before[name]] == []
