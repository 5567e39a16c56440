"""audit.questions: the interface's gaps, the assumptions, and the data's answers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sql.conftest import Run

    Answers = Callable[[list[dict[str, Any]], dict[str, list[dict[str, Any]]]], dict[str, dict[str, Any]]]


def asked(*questions: str) -> list[dict[str, Any]]:
    """Return questions in this order, with their assumptions."""
    return [
        {
            "no": no,
            "question": each,
            "section": "2",
            "undocumented": each,
            "assumption": "[x] y = 1",
            "partner_question": f"{each}?",
        }
        for no, each in enumerate(questions, 1)
    ]


@pytest.fixture
def answers(run_table: Run) -> Answers:
    """Give `answers(questions, {"audit.vocabulary": [...]})`: the answers by question, made of the figures of these."""

    def answer(questions: list[dict[str, Any]], given: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
        figures = run_table("workings.question_figures", given)
        rows = run_table("audit.questions", {"raw.assumptions": questions, "workings.question_figures": figures})
        return {row["question"]: row for row in rows}

    return answer


@pytest.mark.duckdb2
def test_what_most_orders_depend_on_comes_first(run_table: Run) -> None:
    """Days add up; a question without evidence stands last, as unknown."""
    case = {"question": "timezone", "is_against": True, "currency": "EUR"}
    rows = run_table(
        "audit.questions",
        {
            "raw.assumptions": asked("token_lifetime", "timezone", "sales"),
            "workings.daily_question_cases": [
                case | {"order_count": 2, "total_price": "10.5", "example_ids": [7, 9]},
                case | {"order_count": 3, "total_price": "1", "example_ids": [4, 8, 11]},
                {"question": "sales", "is_against": False, "currency": "EUR", "order_count": 90, "example_ids": [1]},
            ],
        },
    )
    by_rank = sorted(rows, key=lambda row: row["rank"])
    assert [(row["question"], row["evidence_status"], row["affected_order_count"]) for row in by_rank] == [
        ("timezone", "contradicted", 5),
        ("token_lifetime", "unknown", 0),
        ("sales", "supported", 0),
    ]
    assert (by_rank[0]["affected_amount"], by_rank[0]["currency"]) == (Decimal("11.5"), "EUR")
    assert by_rank[0]["example_ids"] == [4, 7, 8]
    assert by_rank[0]["evidence"].startswith("Orders of stores without a timezone that exists: 5; ")
    assert by_rank[2]["supporting_count"] == 90
    assert by_rank[1]["evidence"] is None


def test_cases_decide_the_rank_of_questions_with_as_many_orders(run_table: Run) -> None:
    """More cases against come first, then fewer for it; how much money it is does not count."""
    case = {"is_against": True, "order_count": 1, "example_ids": [1]}
    counts = {"sales": ("5", 3), "timezone": ("9000", 4), "deleted": ("7", 2), "nulls": ("6", 2)}
    rows = run_table(
        "audit.questions",
        {
            "raw.assumptions": asked(*counts, "product_ids"),
            "workings.daily_question_cases": [
                each
                for question, (total, agree) in counts.items()
                for each in (
                    case | {"question": question, "currency": "EUR", "total_price": total},
                    case | {"question": question, "currency": "EUR", "is_against": False, "order_count": agree},
                )
            ],
            "workings.question_figures": [{"question": "deleted", "said": "once", "against": 1}],
        },
    )
    assert [row["question"] for row in sorted(rows, key=lambda row: row["rank"])] == [
        "deleted",
        "nulls",
        "sales",
        "timezone",
        "product_ids",
    ]


def test_two_currencies_do_not_add_up(run_table: Run) -> None:
    """Orders of two currencies, or of none, have a count and no sum."""
    case = {"question": "deleted", "is_against": True, "order_count": 1, "total_price": "5", "example_ids": [1]}
    rows = run_table(
        "audit.questions",
        {
            "raw.assumptions": asked("deleted"),
            "workings.daily_question_cases": [case | {"currency": "EUR"}, case | {"currency": None}],
        },
    )
    assert (rows[0]["affected_order_count"], rows[0]["affected_amount"], rows[0]["currency"]) == (2, None, None)


def test_values_nulls_and_new_fields_are_reported(answers: Answers) -> None:
    """What other evidence shows stands in a sentence, with counts and examples."""
    shown = {
        "kind": "orders",
        "document_count": 10,
        "null_document_count": 0,
        "absent_document_count": 0,
        "is_documented": True,
    }
    told = answers(
        asked("values", "nulls", "new_fields"),
        {
            "audit.vocabulary": [
                {"kind": "orders", "path": "/status", "value": "done", "document_count": 3},
                {"kind": "orders", "path": "/status", "value": "new", "document_count": 7},
            ],
            "audit.field_profile": [
                shown | {"path": "/tip", "types": ["number"], "null_document_count": 2, "null_example_id": 5},
                shown
                | {"path": "/a", "is_documented": False, "types": ["string"], "present_count": 4, "example_id": 6},
            ],
        },
    )
    assert told["values"]["evidence"] == "orders /status: new (7), done (3)"
    assert told["nulls"]["evidence"] == "orders /tip: null in 2, absent from 0 of 10"
    assert (told["nulls"]["example_ids"], told["new_fields"]["example_ids"]) == ([5], [6])
    assert (told["new_fields"]["evidence_status"], told["new_fields"]["contradicting_count"]) == ("contradicted", 4)


def test_stores_and_statuses_are_reported(answers: Answers) -> None:
    """A store's fields, encrypted ones by their names, its menus, and which statuses were seen to follow each other."""
    field = {
        "kind": "stores",
        "parent_count": 3,
        "present_count": 2,
        "document_count": 3,
        "null_document_count": 0,
        "absent_document_count": 0,
    }
    told = answers(
        asked("store_record", "store_personal", "store_menus", "final_statuses"),
        {
            "audit.field_profile": [
                field | {"path": "/name", "is_documented": True, "types": ["string"]},
                field | {"path": "/phone", "is_documented": False, "types": ["string"], "example_id": 9},
            ],
            "core.store_menus": [{"store_id": s, "menu_id": m} for s, m in ((7, 1), (7, 2), (8, 1))],
            "audit.vocabulary": [{"kind": "orders", "path": "/status", "value": "done", "document_count": 3}],
            "audit.status_transitions": [
                {"entity_type": "order", "previous_status": "new", "status": "done", "occurrence_count": 2},
                {"entity_type": "delivery", "previous_status": "a", "status": "b", "occurrence_count": 5},
            ],
        },
    )
    assert told["store_record"]["evidence"] == "/name: string in 2 of 3"
    assert told["store_personal"]["evidence"] == "/phone: kept encrypted in 2 places"
    assert told["store_menus"]["evidence"] == (
        "Stores that name menus: 2; menus that they name: 3; most of one store: 2."
    )
    assert told["store_menus"]["example_ids"] == [7]
    assert told["final_statuses"]["evidence"] == (
        "orders stand at: done (3); seen to follow each other: new to done (2)"
    )


def test_how_the_service_behaves_answers_too(answers: Answers) -> None:
    """The client's counts stand in a sentence; answers that were taken are cases for the assumption."""
    met = {"operation": "orders", "aspect": "status", "name": "200", "occurrence_count": 40}
    told = answers(
        asked("limits", "token_header", "errors"),
        {
            "audit.service_behaviour": [
                met,
                met
                | {"aspect": "retry_after", "name": "429", "occurrence_count": 2, "min_value": 1.0, "max_value": 30.0},
                met | {"aspect": "error_body", "name": '404 {"error":string}', "occurrence_count": 1200},
            ],
        },
    )
    assert told["limits"]["evidence"] == "orders retry_after 429: 2 times, from 1 s to 30 s"
    assert (told["token_header"]["evidence_status"], told["token_header"]["supporting_count"]) == ("supported", 40)
    assert 'orders error_body 404 {"error":string}: 1,200 times' in told["errors"]["evidence"]


def test_quarantined_orders_contradict_what_accepted_ones_support(run_table: Run) -> None:
    """All accepted orders have two decimals, since others are quarantined: the answer is not that the data agree."""
    case = {"question": "decimals", "is_against": False, "currency": "EUR", "order_count": 90, "example_ids": [1]}
    rejected = {"kind": "orders", "entity_id": 7, "reason": "too_many_decimals", "pointer": "/tip", "load_id": "a"}
    figures = run_table("workings.question_figures", {"audit.quarantine": [rejected]})
    (row,) = run_table(
        "audit.questions",
        {
            "raw.assumptions": asked("decimals"),
            "workings.daily_question_cases": [case],
            "workings.question_figures": figures,
        },
    )
    assert (row["evidence_status"], row["supporting_count"], row["contradicting_count"]) == ("contradicted", 90, 1)
    assert (row["affected_order_count"], row["example_ids"]) == (0, [7])
    assert row["evidence"].endswith(" orders quarantined: too_many_decimals (1)")


def test_one_of_each_is_singular(run_table: Run) -> None:
    """Nothing that is found once is said in the plural, whatever the question."""
    cases = ("business_day", "currency", "decimals", "deleted", "nulls", "sales", "subtotal_formula", "timezone")
    field = {"kind": "stores", "types": ["number"], "present_count": 1, "parent_count": 1, "document_count": 1}
    field |= {"null_document_count": 0, "absent_document_count": 1, "max_decimals": 1, "example_id": 1}
    figures = run_table(
        "workings.question_figures",
        {
            "audit.service_behaviour": [
                {"operation": "orders", "aspect": "status", "name": "404", "occurrence_count": 1}
            ],
            "audit.field_profile": [
                field | {"path": path, "is_documented": is_documented, "kind": kind}
                for path, is_documented in (("/id", True), ("/dispatch_note", True), ("/x", False))
                for kind in ("orders", "stores")
            ],
            "core.store_menus": [{"store_id": 1, "menu_id": 1}],
        },
    )
    given = {
        "raw.assumptions": asked(*cases, "total_formula", *{row["question"] for row in figures} - {*cases}),
        "workings.question_figures": figures,
        "workings.daily_question_cases": [
            {"question": each, "is_against": is_against, "order_count": 1, "example_ids": [1]}
            for each in (*cases, "total_formula")
            for is_against in (False, True)
        ],
    }
    rows = run_table("audit.questions", given)
    assert len(rows) > 12
    assert [row["evidence"] for row in rows if re.search(r"\b1 (?!of\b)[a-z]+s\b", row["evidence"])] == []
