"""round_amount: exact decimal rounding, half up and half even."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import duckdb

EXACT = Context(prec=60)
# Halfway cases are rare among random amounts: half of them are odd multiples of half a unit of 0 to 3 decimals.
HALVES = st.builds(
    lambda number, decimals: Decimal(2 * number + 1) / 2 / 10**decimals, st.integers(-50, 50), st.integers(0, 3)
)
AMOUNTS = st.decimals(-(10**20), 10**20, places=4) | HALVES


@pytest.mark.duckdb2
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(AMOUNTS, min_size=1, max_size=20))
def test_round_amount_equals_decimal(con: duckdb.DuckDBPyConnection, amounts: list[Decimal]) -> None:
    """Every amount is rounded as Python's decimal rounds it, and stays unchanged without decimals."""
    for decimals in (None, 0, 1, 2, 3):
        for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN):
            found = con.execute(
                "select round_amount(cast(amount as decimal(38, 4)), ?, ?) from unnest(?) as given (amount)",
                [decimals, mode == ROUND_HALF_EVEN, [str(amount) for amount in amounts]],
            ).fetchall()
            assert [amount for (amount,) in found] == [
                amount if decimals is None else amount.quantize(Decimal(1).scaleb(-decimals), mode, EXACT)
                for amount in amounts
            ]
