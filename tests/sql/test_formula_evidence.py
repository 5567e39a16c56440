"""workings.formula_evidence: how many orders fit a form, of a population and of those that hold a part, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

FIGURES = {"order_count": 40, "fit_count": 39, "min_fit_count": 36, "is_leader": True, "is_refuted": False}
OTHERS = [{"rule_target": "subtotal", "no": 4}, {"rule_target": "total", "no": 5}]


def evidence(run_table: Run, *found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the gathered rows, beside populations, forms and parts of other targets and numbers."""
    named = [{"rule_target": "total", "no": 4, "text": "right"}, *(other | {"text": "wrong"} for other in OTHERS)]

    def rows(number: str, *texts: str) -> list[dict[str, Any]]:
        return [
            {
                "rule_target": each["rule_target"],
                number: each["no"],
                **{text: f"{each['text']} {text}" for text in texts},
            }
            for each in named
        ]

    return run_table(
        "workings.formula_evidence",
        {
            "raw.formula_evidence": list(found),
            "audit.formula_populations": rows("population_no", "scope"),
            "workings.formula_forms": rows("form_no", "form", "form_description"),
            "workings.formula_parts": rows("part_no", "part"),
        },
    )


@pytest.mark.duckdb2
def test_figures_stand_beside_names(run_table: Run) -> None:
    """Population, form and part are named by target and number; the figures are as gathered."""
    keys = {"rule_target": "total", "population_no": 4, "form_no": 4, "part_no": 4}
    (row,) = evidence(run_table, keys | FIGURES)
    assert row == keys | FIGURES | {
        "scope": "right scope",
        "form": "right form",
        "form_description": "right form_description",
        "part": "right part",
    }


def test_figures_of_all_orders_have_no_part(run_table: Run) -> None:
    """The row of all orders stays, without a part; so does one of too few orders to refute."""
    keys = {"rule_target": "total", "population_no": 4, "form_no": 4, "part_no": None}
    (row,) = evidence(run_table, keys | FIGURES | {"min_fit_count": None})
    assert (row["part_no"], row["part"], row["min_fit_count"], row["order_count"]) == (None, None, None, 40)
