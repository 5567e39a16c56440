"""workings.question_figures: the data's answers to the open questions, in words and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_an_answer_of_the_service_is_of_several_questions(run_table: Run) -> None:
    """A document that was fetched supports the base address and the header; a 401 is about the token, too."""
    met = {"operation": "orders", "aspect": "status", "occurrence_count": 4}
    rows = run_table(
        "workings.question_figures", {"audit.service_behaviour": [met | {"name": n} for n in ("200", "401")]}
    )
    assert {(row["question"], row["place"], row["said"], row["agree"]) for row in rows} == {
        ("base_address", "orders status 200", "4 times", 4),
        ("errors", "orders status 200", "4 times", 4),
        ("errors", "orders status 401", "4 times", None),
        ("token_header", "orders status 200", "4 times", 4),
        ("token_refused", "orders status 401", "4 times", None),
    }


def test_what_is_measured_is_said(run_table: Run) -> None:
    """A measured value stands behind its count, and so does the range where there is one."""
    counted = {"operation": "orders", "aspect": "retry_after", "occurrence_count": 1200}
    rows = run_table(
        "workings.question_figures",
        {
            "audit.service_behaviour": [
                counted | {"name": str(n), "metric_value": metric, "min_value": least, "max_value": least}
                for n, (metric, least) in enumerate([(None, None), (0.5, None), (None, 2.0), (1.25, 3.0)])
            ]
        },
    )
    assert {(row["place"], row["said"]) for row in rows} == {
        ("orders retry_after 0", "1,200 times"),
        ("orders retry_after 1", "1,200 times, 0.5"),
        ("orders retry_after 2", "1,200 times, from 2 to 2"),
        ("orders retry_after 3", "1,200 times, 1.25, from 3 to 3"),
    }


def test_what_fields_hold_is_said(run_table: Run) -> None:
    """Ids have a range, amounts decimals, free texts how many are there; unknown values count as none."""
    field: dict[str, Any] = {"null_document_count": 0, "absent_document_count": 0, "document_count": 2}
    field |= {"is_documented": True, "kind": "orders", "types": ["number"], "present_count": 5, "parent_count": 9}
    rows = run_table(
        "workings.question_figures",
        {
            "audit.field_profile": [
                field | {"path": "/id", "min_value": 1, "max_value": 2000},
                field | {"path": "/tip", "max_decimals": 2},
                field | {"path": "/dispatch_note", "types": ["string"], "empty_count": 2},
                field | {"path": "/x", "is_documented": False, "types": ["null", "string"], "present_count": None},
            ]
        },
    )
    assert {(row["question"], row["place"], row["said"]) for row in rows} == {
        ("ids", "orders", "1 to 2000"),
        ("decimals", "orders /tip", "up to 2 decimals"),
        ("free_texts", "orders /dispatch_note", "not empty in 3 of 9 places"),
        ("new_fields", "orders /x", "null|string in 0 documents"),
    }


def test_populations_are_counted_by_verdict_and_named_by_scope(run_table: Run) -> None:
    """Of 1,500 orders 1,000 have no rule: both counts are there, and which orders they are."""
    found = {"rule_target": "total", "scope": "platform kiosk", "verdict": "supported", "order_count": 500}
    figures = run_table(
        "workings.question_figures",
        {
            "audit.formula_populations": [
                found,
                found | {"scope": "platform ios", "verdict": "none", "order_count": 600},
                found | {"scope": "platform web", "verdict": "none", "order_count": 400},
            ]
        },
    )
    assert {(row["place"], row["said"], row["figure"]) for row in figures} == {
        (None, "supported for 500 of 1,500", 500),
        (None, "refuted for 1,000 of 1,500", 1000),
        ("supported", "platform kiosk (500)", 500),
        ("refuted", "platform ios (600)", 600),
        ("refuted", "platform web (400)", 400),
    }
