"""rounded: exact decimal rounding, down, half up and half even."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import duckdb

EXACT = Context(prec=60)
MODES = {"down": ROUND_DOWN, "half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN}
# Halfway cases are rare among random amounts: half of them are odd multiples of half a unit of 0 to 3 decimals.
HALVES = st.builds(
    lambda number, decimals: Decimal(2 * number + 1) / 2 / 10**decimals, st.integers(-50, 50), st.integers(0, 3)
)
AMOUNTS = st.decimals(-(10**20), 10**20, places=4) | HALVES


@pytest.mark.duckdb2
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(AMOUNTS, min_size=1, max_size=20))
def test_rounded_equals_decimal(con: duckdb.DuckDBPyConnection, amounts: list[Decimal]) -> None:
    """Every amount is rounded as Python's decimal rounds it."""
    for decimals in (0, 1, 2, 3):
        for mode, expected in MODES.items():
            unit = Decimal(1).scaleb(-decimals)
            found = con.execute(
                "select cast(rounded(cast(amount as decimal(38, 4)), ?, cast(? as decimal(38, 4))) as decimal(38, 4)) "
                "from unnest(?) as given (amount)",
                [mode, str(unit), [str(amount) for amount in amounts]],
            ).fetchall()
            assert [amount for (amount,) in found] == [amount.quantize(unit, expected, EXACT) for amount in amounts]
