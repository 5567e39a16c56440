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
        ("errors", "orders status 401", "4 times", None),
        ("token_header", "orders status 200", "4 times", 4),
        ("token_refused", "orders status 401", "4 times", None),
    }


def test_an_error_is_an_answer_of_another_status(run_table: Run) -> None:
    """Documents and redirects show no error, whoever sent them; each other status does, and supports nothing."""
    met = {"aspect": "status", "occurrence_count": 4}
    operations = ("orders", "menus", "stores", "store list", "authenticate")
    rows = run_table(
        "workings.question_figures",
        {
            "audit.service_behaviour": [
                met | {"operation": operation, "name": name}
                for operation in operations
                for name in ("200", "204", "302", "404", "500")
            ]
        },
    )
    errors = {(row["place"], row["agree"]) for row in rows if row["question"] == "errors"}
    assert errors == {(f"{operation} status {name}", None) for operation in operations for name in ("404", "500")}


def test_an_accepted_token_shows_where_it_is_in_the_response(run_table: Run) -> None:
    """Requests with a token that the service accepted support its place; claims and refusals do not."""
    met = {"operation": "authenticate", "aspect": "token_lifetime", "occurrence_count": 7}
    rows = run_table(
        "workings.question_figures",
        {"audit.service_behaviour": [met | {"name": name} for name in ("accepted", "claimed", "refused")]},
    )
    assert [(row["place"], row["agree"]) for row in rows if row["question"] == "token_place"] == [
        ("authenticate token_lifetime accepted", 7)
    ]


def test_rejected_documents_are_cases_against_what_accepted_ones_show(run_table: Run) -> None:
    """A document counts once for each reason, under each question that the reason is about, others under none."""
    rejected = [
        ("orders", 7, "too_many_decimals", "/tip"),
        ("orders", 7, "too_many_decimals", "/total_price"),
        ("orders", 5, "too_many_decimals", "/tip"),
        ("orders", None, "no_id", "/id"),
        ("orders", 8, "wrong_type", "/store_id"),
        ("orders", 9, "wrong_type", "/items/0/price"),
        ("menus", 3, "too_large", ""),
        ("stores", 2, "wrong_type", "/currency"),
    ]
    rows = run_table(
        "workings.question_figures",
        {
            "audit.quarantine": [
                {"kind": kind, "entity_id": id_, "reason": reason, "pointer": pointer, "load_id": "a", "seq": seq}
                for seq, (kind, id_, reason, pointer) in enumerate(rejected)
            ]
        },
    )
    assert {(row["question"], row["place"], row["said"], row["against"], *row["example_ids"]) for row in rows} == {
        ("decimals", "orders quarantined", "too_many_decimals (2)", 2, 5, 7),
        ("ids", "orders quarantined", "no_id (1)", 1),
        ("ids", "orders quarantined", "wrong_type (1)", 1, 8),
        ("nulls", "orders quarantined", "no_id (1)", 1),
        ("sizes", "menus quarantined", "too_large (1)", 1, 3),
        ("store_record", "stores quarantined", "wrong_type (1)", 1, 2),
    }


def test_what_is_measured_is_said(run_table: Run) -> None:
    """A measured value stands behind its count with its unit, rounded, and the range where there is one."""
    measured: list[tuple[str, float | None, float | None, float | None]] = [
        ("token_lifetime", None, 0.000996787, 6.02063),
        ("token_lifetime", None, 3600, 3600),
        ("deliveries", 5.26316, None, None),
        ("loss", 0.0185185, None, None),
        ("response_bytes", 80, 80, 80),
        ("response_bytes", 10107, 4840, 10107),
        ("duration_ms", 99.99951, 0.3585, 629.361),
        ("lag_seconds", 34640.414, 9731.744, 67452.235),
        ("rate_limit", None, 1, 30),
        ("retry_after", None, None, None),
    ]
    rows = run_table(
        "workings.question_figures",
        {
            "audit.service_behaviour": [
                {"operation": str(n), "aspect": aspect, "name": "p99", "occurrence_count": 1200 if n else 1}
                | {"metric_value": metric, "min_value": least, "max_value": most}
                for n, (aspect, metric, least, most) in enumerate(measured)
            ]
        },
    )
    assert {(int(row["place"].partition(" ")[0]), row["said"]) for row in rows} == {
        (0, "once, from 0.001 s to 6.021 s"),
        (1, "1,200 times, 3,600 s"),
        (2, "1,200 times, 5.263 per id"),
        (3, "1,200 times, 0.019 of them"),
        (4, "1,200 times, 80 bytes"),
        (5, "1,200 times, 10,107 bytes, from 4,840 bytes to 10,107 bytes"),
        (6, "1,200 times, 100 ms, from 0.358 ms to 629 ms"),
        (7, "1,200 times, 34,640 s, from 9,732 s to 67,452 s"),
        (8, "1,200 times, from 1 to 30"),
        (9, "1,200 times"),
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
        ("decimals", "orders /tip", "decimals up to 2"),
        ("free_texts", "orders /dispatch_note", "not empty in 3 of 9"),
        ("new_fields", "orders /x", "null|string in 0 places"),
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
