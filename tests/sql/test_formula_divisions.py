"""workings.formula_divisions: by which values orders are divided, as gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ROW = {"rule_target": "total", "node_no": 0, "is_rest": False, "dimension": "platform", "part_no": None, "child_no": 2}


@pytest.mark.duckdb2
def test_divisions_are_rows_of_a_value_or_the_rest(run_table: Run) -> None:
    """A missing value is a value, and is told from the rest; a division by a part names the part."""
    given = [
        ROW | {"value": "web"},
        ROW | {"value": None, "child_no": 3},
        ROW | {"value": None, "is_rest": True, "child_no": 1},
        ROW | {"value": "1", "node_no": 2, "dimension": "tip", "part_no": 2, "child_no": 5},
    ]
    assert run_table("workings.formula_divisions", {"raw.formula_divisions": given}) == given
