"""audit.fetches: one row per request, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def observed(seq: int, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a row of raw.observations of an order that was asked for."""
    row = {"kind": "orders", "id": 100 + seq, "seq": seq, "source": "live", "verdict": verdict, "load_id": "L1"}
    cost = {"ms": 12, "bytes": 900, "tries": 1, "http_status": 200, "observed_at": "2026-11-20T03:15:00Z"}
    return row | cost | more


def test_each_id_asked_for_is_a_row(run_table: Run) -> None:
    """Found, not found and failed ids stand with status, time, bytes and tries."""
    rows = run_table(
        "audit.fetches",
        {
            "raw.observations": [
                observed(0, "accepted"),
                observed(1, "missing", http_status=404, bytes=0),
                observed(2, "failed", http_status=None, bytes=0, tries=12, reason="reset"),
            ]
        },
    )
    assert [
        (r["entity_id"], r["outcome"], r["http_status"], r["response_bytes"], r["attempt_count"], r["reason"])
        for r in rows
    ] == [
        (100, "accepted", 200, 900, 1, None),
        (101, "not_found", 404, 0, 1, None),
        (102, "failed", None, 0, 12, "reset"),
    ]


def test_what_was_not_asked_for_is_none(run_table: Run) -> None:
    """A document out of a file, and a reprocessed one, were not requested."""
    rows = run_table(
        "audit.fetches",
        {
            "raw.observations": [
                observed(0, "accepted", source="archive", tries=None),
                observed(1, "accepted", tries=None),
            ]
        },
    )
    assert rows == []


def test_each_try_is_a_row(run_table: Run) -> None:
    """Tries before the last stand with what came of each; the last one has the outcome."""
    earlier = [
        {"http_status": 503, "reason": "server_error", "ms": 7, "bytes": 0},
        {"http_status": None, "reason": "reset", "ms": 3, "bytes": 0},
    ]
    rows = run_table("audit.fetches", {"raw.observations": [observed(0, "accepted", tries=3, earlier_tries=earlier)]})
    names = (
        "attempt_no",
        "outcome",
        "reason",
        "http_status",
        "duration_ms",
        "response_bytes",
        "attempt_count",
        "is_final_attempt",
    )
    assert sorted(tuple(row[name] for name in names) for row in rows) == [
        (1, "retried", "server_error", 503, 7, 0, 3, False),
        (2, "retried", "reset", None, 3, 0, 3, False),
        (3, "accepted", None, 200, 12, 900, 3, True),
    ]
