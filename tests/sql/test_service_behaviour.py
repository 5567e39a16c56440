"""audit.service_behaviour: the client's counts, and webhooks against what fetching found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

AT = "2026-11-20T0{}:00:00Z".format


def counted(
    aspect: str, name: str, n: int, least: float | None = None, greatest: float | None = None
) -> dict[str, Any]:
    """Return what was counted of orders on a day."""
    seen = {"first_at": AT(1), "last_at": AT(2)}
    return {"operation": "orders", "aspect": aspect, "name": name, "n": n, "least": least, "greatest": greatest} | seen


@pytest.mark.duckdb2
def test_days_add_up_and_bounds_give_percentiles(run_table: Run) -> None:
    """Equal things of several days are one row; of 100 tries the 50th is at or below p50's bound."""
    rows = run_table(
        "audit.service_behaviour",
        {
            "raw.service_log": [
                counted("status", "200", 5),
                counted("status", "200", 7),
                counted("retry_after", "429", 2, 1.0, 30.0),
                counted("duration_ms", "7", 49, 6.2, 6.9),
                counted("duration_ms", "10", 41, 8.0, 9.9),
                counted("duration_ms", "1000", 10, 800.0, 950.0),
            ]
        },
    )
    found = {(row["aspect"], row["name"]): row for row in rows}
    assert found["status", "200"]["occurrence_count"] == 12
    assert (found["retry_after", "429"]["min_value"], found["retry_after", "429"]["max_value"]) == (1.0, 30.0)
    assert [found["duration_ms", name]["metric_value"] for name in ("p50", "p90", "p95", "p99")] == [10, 10, 950, 950]
    assert (
        found["duration_ms", "p99"]["occurrence_count"],
        found["duration_ms", "p50"]["min_value"],
        found["duration_ms", "p50"]["max_value"],
    ) == (100, 6.2, 950)


def test_webhooks_are_compared_with_what_was_found(run_table: Run) -> None:
    """An order created while webhooks came and never named is lost; a lag is from creation to the first naming."""
    told = {"topic": "orders.create", "kind": "orders"}
    rows = run_table(
        "audit.service_behaviour",
        {
            "raw.hints": [
                told | {"seq": 1, "id": 1, "received_at": "2026-11-20T01:00:03Z"},
                told | {"seq": 2, "id": 1, "received_at": "2026-11-20T01:00:30Z"},
                told | {"seq": 3, "id": 3, "received_at": "2026-11-20T05:00:00Z"},
                {"topic": "orders.update", "kind": "orders", "seq": 4, "id": 3, "received_at": "2026-11-20T03:30:00Z"},
            ],
            "core.orders": [
                {"order_id": 1, "created_at": "2026-11-20T01:00:03Z"},
                {"order_id": 2, "created_at": "2026-11-20T02:00:00Z"},
                {"order_id": 3, "created_at": "2026-11-20T04:59:50Z"},
                {"order_id": 4, "created_at": "2026-11-19T02:00:00Z"},
            ],
            "core.order_status_observations": [
                {"order_id": 3, "observation_no": 2, "previous_last_seen_at": AT(3), "first_seen_at": AT(4)},
                {"order_id": 2, "observation_no": 2, "previous_last_seen_at": AT(3), "first_seen_at": AT(4)},
                {"order_id": 2, "observation_no": 1, "first_seen_at": AT(3)},
            ],
        },
    )
    found = {(row["aspect"], row["name"]): row for row in rows}
    created = found["loss", "orders.create"]
    assert (created["occurrence_count"], created["metric_value"]) == (3, pytest.approx(1 / 3))
    assert (found["loss", "orders.update"]["occurrence_count"], found["loss", "orders.update"]["metric_value"]) == (
        2,
        0.5,
    )
    lag = found["lag_seconds", "orders.create p90"]
    assert (lag["occurrence_count"], lag["min_value"], lag["max_value"], lag["metric_value"]) == (2, 0, 10, 10)
    assert (
        found["deliveries", "orders.create"]["occurrence_count"],
        found["deliveries", "orders.create"]["metric_value"],
    ) == (3, 1.5)


@pytest.mark.parametrize(
    ("received_at", "lost"),
    [("02:59:59", 1), ("03:00:00", 0), ("03:30:00", 0), ("04:00:00", 0), ("04:00:01", 1), (None, 1)],
)
def test_a_change_is_told_between_two_observations(run_table: Run, received_at: str | None, lost: int) -> None:
    """The times of both count; webhooks of other orders and menus say nothing of it."""
    told = [("orders", 1, "01:00:00"), ("orders", 1, "06:00:00"), ("orders", 2, "03:30:00"), ("menus", 3, "03:30:00")]
    told += [("orders", 3, received_at)] if received_at else []
    rows = run_table(
        "audit.service_behaviour",
        {
            "raw.hints": [
                {"topic": "orders.update", "kind": kind, "seq": seq, "id": id_, "received_at": f"2026-11-20T{at}Z"}
                for seq, (kind, id_, at) in enumerate(told)
            ],
            "core.order_status_observations": [
                {"order_id": 3, "observation_no": 2, "previous_last_seen_at": AT(3), "first_seen_at": AT(4)}
            ],
        },
    )
    found = {(row["aspect"], row["name"]): row for row in rows}
    assert found["loss", "orders.update"]["metric_value"] == lost
