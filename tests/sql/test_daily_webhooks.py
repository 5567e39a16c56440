"""audit.daily_webhooks: deliveries of webhooks by day and topic, and which of their ids were answered since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def notification(seq: int, at: str, id: int) -> dict[str, Any]:  # noqa: A002
    """Return a row of raw.hints."""
    return {"seq": seq, "received_at": at, "topic": "orders.update", "kind": "orders", "id": id}


def test_only_an_answer_after_the_delivery_counts(run_table: Run) -> None:
    """An id that was last asked for before the delivery, or never, is not counted as fetched since."""
    rows = run_table(
        "audit.daily_webhooks",
        {
            "raw.hints": [
                notification(1, "2026-11-01T10:00:00Z", 1),
                notification(2, "2026-11-01T11:00:00Z", 1),
                notification(3, "2026-11-01T12:00:00Z", 2),
                notification(4, "2026-11-01T23:59:59Z", 3),
                notification(5, "2026-11-02T00:00:00Z", 1),
            ],
            "raw.states": [
                {"kind": "orders", "id": 1, "last_checked_at": "2026-11-01T10:30:00Z"},
                {"kind": "orders", "id": 2, "last_checked_at": "2026-11-01T10:30:00Z"},
                {"kind": "menus", "id": 3, "last_checked_at": "2026-11-03T10:30:00Z"},
            ],
        },
    )
    assert [(r["webhook_count"], r["id_count"], r["fetched_id_count"]) for r in rows] == [(4, 3, 1), (1, 1, 0)]
