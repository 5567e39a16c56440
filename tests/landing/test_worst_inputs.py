"""Whatever a body, a file, a header or a name holds, the work on it grows with its length and no faster.

Were one function quadratic, its worst input would take minutes or hours here, and the test its time.
`benchmarks/worst_input.py` compares the times of larger inputs.
"""

from __future__ import annotations

import pytest

from pipelines.settings import load_settings
from tests.worst_inputs import cases

SIZE = 1 << 19
CASES = list(cases(load_settings(environ={})))
GROUPS = sorted({case.name.partition(":")[0] for case in CASES})
ALIKE = {"menus", "stores"}  # they are read as orders are


@pytest.mark.slow
@pytest.mark.parametrize("group", [pytest.param(each, marks=[pytest.mark.long] * (each in ALIKE)) for each in GROUPS])
def test_the_worst_inputs_come_to_an_end(group: str) -> None:
    """Every function that reads text of the partner's ends on its worst input."""
    for case in CASES:
        if case.name.partition(":")[0] == group:
            case.run(SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("body", ["distinct keys", "digits of an amount"])
def test_a_body_of_the_largest_size_comes_to_an_end(body: str) -> None:
    """So do the bodies that once took an hour, at the largest size that is read by default."""
    next(case for case in CASES if case.name == f"orders: {body}").run(5 << 20)


def test_every_reader_has_a_case() -> None:
    """Bodies of each kind, webhooks, files, error bodies, headers and names are all tried."""
    assert set(GROUPS) >= {"orders", "menus", "stores", "webhook", "file", "error body", "Link header", "Retry-After"}
    assert len(CASES) > 150
