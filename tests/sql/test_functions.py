"""Functions of sql/functions: exact rounding, and the units that amounts are stated in."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import duckdb

EXACT = Context(prec=60)
MODES = {"down": ROUND_DOWN, "up": ROUND_UP, "half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN}
# Halfway cases are rare among random amounts: half of them are multiples of half a unit.
AMOUNTS = st.decimals(-(10**20), 10**20, places=4) | st.integers(-(10**6), 10**6).map(lambda n: Decimal(n) * 5 / 10_000)


@pytest.mark.duckdb2
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(AMOUNTS, min_size=1, max_size=20))
def test_rounded_equals_decimal(con: duckdb.DuckDBPyConnection, amounts: list[Decimal]) -> None:
    """Every amount is rounded as Python's decimal rounds it."""
    for decimals in (0, 1, 2, 3):
        unit = Decimal(1).scaleb(-decimals)
        for mode, rounding in MODES.items():
            found = con.execute(
                "select rounded(cast(amount as decimal(38, 4)), ?, cast(? as decimal(38, 4))) "
                "from unnest(?) as given (amount)",
                [mode, str(unit), [str(amount) for amount in amounts]],
            ).fetchall()
            assert [amount for (amount,) in found] == [amount.quantize(unit, rounding, EXACT) for amount in amounts]


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("currency", "amount", "unit"),
    [("EUR", "12.5", "0.01"), ("JPY", "12.5", "1"), ("KWD", "12", "0.001"), (None, "12.50", "0.1"), (None, "12", "1")],
)
def test_smallest_unit_is_the_currencys_or_the_amounts(
    con: duckdb.DuckDBPyConnection, currency: str | None, amount: str, unit: str
) -> None:
    """ISO 4217 says how many decimals a currency has; of an unknown one the amount does."""
    row = con.execute("select smallest_unit(?::varchar, ?::decimal(18, 4))", [currency, amount]).fetchone()
    assert row == (Decimal(unit),)


@pytest.mark.duckdb2
def test_a_time_outside_the_bounds_is_not_stated(con: duckdb.DuckDBPyConnection) -> None:
    """Nor is one of a year before 1, of which no calendar need know the day."""
    none = (
        *("0000-00-00", "0000-00-00 00:00:00", "0000-00-00T00:00:00Z", "-0001-11-30T00:00:00", "0000-12-31T23:00:00Z"),
        *(
            "0001-01-01T00:00:00+01:00",
            "1601-01-01T00:00:00Z",
            "1970-01-01T00:59:59+01:00",
            "2100-12-31T23:00:00-01:00",
        ),
        *("9999-12-31T23:59:59.9999999-01:00", None),
    )
    some = ("1970-01-01T00:00:00Z", "2100-12-31T23:59:59", "2101-01-01T00:59:59+01:00")
    bounds = "timestamptz '1970-01-01 00:00:00Z', timestamptz '2101-01-01 00:00:00Z'"
    rows = con.execute(
        f"select sent from unnest(?) as t (sent) where instant_within_range(sent, {bounds}) is not null",
        [[*none, *some]],
    )
    assert [sent for (sent,) in rows.fetchall()] == [*some]


@pytest.mark.duckdb2
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(AMOUNTS, st.integers(-(2**63), 2**63 - 1))
def test_divided_equals_decimal(con: duckdb.DuckDBPyConnection, amount: Decimal, number: int) -> None:
    """An amount by a whole number is as Python's decimal rounds it to four decimals; by zero it is null."""
    row = con.execute("select divided(cast(? as decimal(38, 4)), ?)", [str(amount), number]).fetchone()
    exact = EXACT.divide(amount, Decimal(number)).quantize(Decimal("0.0001"), ROUND_HALF_UP, EXACT) if number else None
    assert row == (exact,)


@pytest.mark.duckdb2
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(AMOUNTS, st.decimals("0.0001", "99999.9999", places=4) | st.sampled_from([Decimal(-1), Decimal("1.08")]))
def test_what_is_left_of_prices_equals_decimal(
    con: duckdb.DuckDBPyConnection, amount: Decimal, factor: Decimal
) -> None:
    """Prices by a factor are as Python's decimal rounds them to eight decimals."""
    row = con.execute(
        "select net_of(cast(? as decimal(38, 4)), cast(? as decimal(18, 4)))", [str(amount), str(factor)]
    ).fetchone()
    assert row == (EXACT.divide(amount, factor).quantize(Decimal("0.00000001"), ROUND_HALF_UP, EXACT),)


@pytest.mark.duckdb2
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.decimals(-(10**14) + 1, 10**14 - 1, places=4) | st.decimals(-(10**5), 10**5, places=2),
    st.decimals(0, 10**14, places=4) | st.decimals(0, 10**5, places=4),
    st.decimals(0, 10**14, places=4) | st.decimals(0, 10**5, places=4),
    st.sampled_from(["1", "0.01", "0.0001"]),
)
def test_a_share_is_cut_to_whole_units(
    con: duckdb.DuckDBPyConnection, amount: Decimal, part: Decimal, rest: Decimal, unit: str
) -> None:
    """A share is exact and cut to units, of the largest amounts as of common ones; the whole is all of it."""
    whole = part + rest
    assume(whole > 0)
    row = con.execute(
        "select share_of(?::decimal(18, 4), ?::decimal(38, 4), ?::decimal(38, 4), ?::decimal(5, 4))",
        [str(amount), str(part), str(whole), unit],
    ).fetchone()
    cut = EXACT.divide(EXACT.multiply(amount, part), EXACT.multiply(whole, Decimal(unit))).to_integral_value(ROUND_DOWN)
    assert row == (amount if rest == 0 else cut * Decimal(unit),)


@pytest.mark.duckdb2
def test_modifiers_that_only_add_fit_alike_for_all_actions(con: duckdb.DuckDBPyConnection) -> None:
    """Where no modifier has another action, each way fits or not for all three actions, as if each were compared."""
    sums = {"own_unit": 7, "unit": 5, "own": 3, "once": 2}
    added = ", ".join(
        f"{amount} as {action}_{way}" for action in ("all", "add", "less") for way, amount in sums.items()
    )
    fits = con.execute(
        f"""
        select rest, list(modifiers_that_fit(rest, 0, added) order by is_only_added)
        from (select {added}, unnest([true, false]) as is_only_added) as added, unnest([0, 2, 3, 5, 7, 9]) as r (rest)
        group by rest order by rest
        """
    ).fetchall()
    bits = {0: 1, 2: 16 | 256 | 4096, 3: 8 | 128 | 2048, 5: 4 | 64 | 1024, 7: 2 | 32 | 512, 9: 0}
    assert fits == [(rest, [mask, mask]) for rest, mask in bits.items()]


@pytest.mark.duckdb2
@pytest.mark.parametrize("rest", [-1, 0, 1, 2])
def test_signs_of_nothing_fit_alike(con: duckdb.DuckDBPyConnection, rest: int) -> None:
    """A part of zero has all three signs where the other part's sign fits; if neither is, all are compared."""
    for b in (0, 1):
        row = con.execute("select signs_that_fit(?::bigint, 0, 1::bigint, ?::bigint)", [rest, b]).fetchone()
        signs = (-1, 0, 1)
        fits = [3 * x + y for x, sign in enumerate(signs) for y, other in enumerate(signs) if sign + other * b == rest]
        assert row == (sum(1 << bit for bit in fits),)
