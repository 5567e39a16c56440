"""audit.question_figures: the data's answers to the open questions, in codes and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.inputs.sources import SENTENCES

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_an_answer_of_the_service_is_of_several_questions(run_table: Run) -> None:
    """A document that was fetched supports the base address and the header; a 401 is about the token, too."""
    met = {"operation": "orders", "aspect": "status", "occurrence_count": 4}
    rows = run_table("audit.question_figures", {"audit.service_behaviour": [met | {"name": n} for n in ("200", "401")]})
    assert [(row["question"], row["place"], row["figure"], row["agree"]) for row in rows] == [
        ("base_address", "orders status 200", 4, 4),
        ("errors", "orders status 200", 4, 4),
        ("errors", "orders status 401", 4, None),
        ("token_header", "orders status 200", 4, 4),
        ("token_refused", "orders status 401", 4, None),
    ]


def test_every_figure_has_a_sentence(run_table: Run) -> None:
    """Whatever audit.question_figures finds is said by a sentence of its code, and no sentence is left over."""
    counted = {"operation": "orders", "aspect": "status", "name": "200", "occurrence_count": 1}
    field = {"null_document_count": 1, "absent_document_count": 0, "document_count": 2, "is_documented": True}
    field |= {"types": ["number"], "max_decimals": 2, "min_value": 1, "max_value": 2, "present_count": 1}
    figures = run_table(
        "audit.question_figures",
        {
            "audit.service_behaviour": [
                counted | {"name": str(n), "metric_value": metric, "min_value": least}
                for n, (metric, least) in enumerate([(None, None), (1.0, None), (None, 1.0), (1.0, 1.0)])
            ],
            "audit.field_profile": [
                field | {"kind": "orders", "path": "/id"},
                field | {"kind": "orders", "path": "/dispatch_note"},
                field | {"kind": "stores", "path": "/name"},
                field | {"kind": "stores", "path": "/phone", "is_documented": False},
            ],
            "audit.vocabulary": [{"kind": "orders", "path": "/status", "value": "done", "document_count": 1}],
            "audit.status_transitions": [{"entity_type": "order", "status": "done", "occurrence_count": 1}],
            "core.store_menus": [{"store_id": 1, "menu_id": 1}],
            "audit.formula_populations": [
                {"rule_target": "total", "verdict": "none", "scope": "all", "order_count": 2}
            ],
        },
    )
    (questions,) = (c.words for c in catalogue.table("audit.daily_question_cases").columns if c.name == "question")
    of_questions = {f"orders.{question}" for question in questions} | {"findings.products"}
    assert {row["code"] for row in figures} | of_questions == {each.code for each in SENTENCES}


def test_populations_are_counted_by_verdict_and_named_by_scope(run_table: Run) -> None:
    """Of 1,500 orders 1,000 have no rule: both counts are there, and which orders they are."""
    found = {"rule_target": "total", "scope": "platform kiosk", "verdict": "supported", "order_count": 500}
    figures = run_table(
        "audit.question_figures",
        {
            "audit.formula_populations": [
                found,
                found | {"scope": "platform ios", "verdict": "none", "order_count": 600},
                found | {"scope": "platform web", "verdict": "none", "order_count": 400},
            ]
        },
    )
    assert {(row["code"], row["place"], row["word"], row["figure"], row["whole"]) for row in figures} == {
        ("populations", None, "supported", 500, 1500),
        ("populations", None, "refuted", 1000, 1500),
        ("populations.scope", "supported", "platform kiosk", 500, None),
        ("populations.scope", "refuted", "platform ios", 600, None),
        ("populations.scope", "refuted", "platform web", 400, None),
    }
