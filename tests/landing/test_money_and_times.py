"""Amounts and times that the gate accepts are read by DuckDB as exactly what was written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.landing.exact import Fraction, IntegerText, InvalidDocumentError, instant, money

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def _number(text: str) -> IntegerText | Fraction:
    return IntegerText(text) if text.lstrip("-").isdigit() else Fraction(text)


def _fits(text: str) -> bool:
    value = Decimal(text)
    return abs(value) < 10**14 and value == value.quantize(Decimal("0.0001"))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a DuckDB in memory, its session in UTC."""
    with duckdb.connect() as opened:
        opened.execute("set TimeZone = 'UTC'")
        yield opened


def _duckdb(connection: duckdb.DuckDBPyConnection, text: str, kind: str) -> object:
    return connection.execute(f"select cast(? as {kind})", [text]).fetchone()[0]  # type: ignore[index]


@pytest.mark.slow
@given(text=NUMBERS)
@settings(deadline=None)
def test_money_is_judged_by_value_and_kept_exactly(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """An amount is taken exactly when its value fits four decimals and 14 digits, and its text casts to that value."""
    try:
        fits = _fits(text)
    except InvalidOperation:
        fits = False
    if not fits:
        with pytest.raises(InvalidDocumentError) as refused:
            money(_number(text), "/tip")
        assert refused.value.code in {"too_many_decimals", "too_many_digits"}
        return
    kept, value, rounded = money(_number(text), "/tip")
    assert not rounded
    assert value == Decimal(text)
    assert _duckdb(connection, kept, "decimal(18, 4)") == value


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("12.50", "12.50"),
        ("1.50000", "1.50000"),
        ("-0", "0"),
        ("1e2", "100"),
        ("1E+2", "100"),
        ("150e-2", "1.50"),
        ("0e99999999999", "0"),
        ("0." + "0" * 40 + "1e41", "1"),
        ("123456789012345e-1", "12345678901234.5"),
        ("99999999999999.9999", "99999999999999.9999"),
        ("1." + "0" * 1000, "1.0000"),
    ],
)
def test_the_text_of_an_amount_is_its_own_but_for_exponents(text: str, kept: str) -> None:
    """Numbers keep their own text; one with an exponent is written out, since DuckDB reads some of those wrongly."""
    assert money(_number(text), "")[0] == kept


def test_next_to_nothing_is_rounded_to_nothing() -> None:
    """Where amounts are rounded, up to the 400 places that are computed with."""
    assert money(_number("1e-400"), "/tip", rounds=True) == ("0", Decimal(0), True)
    with pytest.raises(InvalidDocumentError, match="too_many_decimals"):
        money(_number("1e-401"), "/tip", rounds=True)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text", ["1e999999999", "1e-999999999", "1" * 4_000_000, "1." + "1" * 4_000_000, "1" * 4_000_000 + "e-4000000"]
)
def test_a_monstrous_number_costs_little(text: str) -> None:
    """Exponents and digits without measure are refused in bounded time."""
    with pytest.raises(InvalidDocumentError):
        money(_number(text), "")


@pytest.mark.parametrize(
    ("text", "kept"), [("1.00000000001", "1"), ("0.30000000000000004", "0.3"), ("-2.1000000001", "-2.1")]
)
def test_rounding_takes_what_is_within_a_billionth(text: str, kept: str) -> None:
    """Where settings say so, noise of binary fractions is rounded away and counted."""
    assert money(_number(text), "", rounds=True) == (kept, Decimal(kept), True)
    with pytest.raises(InvalidDocumentError, match="too_many_decimals"):
        money(_number("1.00001"), "", rounds=True)


@given(
    moment=st.datetimes(),
    digits=st.sampled_from(["", ".1", ".123", ".123456", ".999999999"]),
    offset=st.sampled_from(["", "Z", "+00:00", "-00:00", "+05:30", "-12:00", "+14:00", "+23:59"]),
)
@settings(deadline=None)
def test_a_time_that_is_accepted_is_the_same_instant_in_duckdb(
    connection: duckdb.DuckDBPyConnection, moment: dt.datetime, digits: str, offset: str
) -> None:
    """Each accepted time casts to TIMESTAMPTZ as the instant that Python reads, to the microsecond."""
    text = moment.strftime("%4Y-%m-%dT%H:%M:%S") + digits + offset
    try:
        expected = dt.datetime.fromisoformat(text if offset else text + "Z").astimezone(dt.UTC)
    except OverflowError:
        return  # Python has no such instant to compare with
    instant(text, "")
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    found = connection.execute("select epoch_us(cast(? as timestamptz))", [text]).fetchone()
    assert found == ((expected - epoch) // dt.timedelta(microseconds=1),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-10-01",
        "2026-10-01T12:00Z",
        "2026-10-01t12:00:00z",
        "2026-10-01T12:00:60Z",
        "2026-13-01T12:00:00Z",
        "0001-00-00T00:00:00Z",
        "2025-00-15T00:00:00Z",
        "0000-00-00T00:00:00Z; drop",
        "0000-00-00 at noon",
        "-0002-01-01T00:00:00Z",
        "0001-01-02",
        "2026-10-01T12:00:00+24:00",
        "2026-10-01T12:00:00+0100",
        "2026-10-01T12:00:00.Z",
        "2026-10-01T12:00:00.1234567890Z",
        "２026-10-01T12:00:00Z",
        "2026-10-01T12:00:00Z\n",
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    """A time that is not of the documented form, or of no real instant, is refused."""
    with pytest.raises(InvalidDocumentError, match="bad_timestamp"):
        instant(text, "/created_at")


@pytest.mark.parametrize(
    "text",
    [
        "0000-00-00",
        "0000-00-00 00:00:00",
        "0000-00-00T00:00:00Z",
        "-0001-11-30T00:00:00",
        "-0001-11-30T00:00:00+00:00",
        "0000-12-31T23:00:00.000Z",
        "0001-01-01T00:00:00+01:00",
        "0001-01-01T00:00:00",
        "1601-01-01T00:00:00Z",
        "1899-12-30T00:00:00Z",
        "9999-12-31T23:59:59.9999999-01:00",
        "9999-12-31 23:59:59",
        "0001-01-01T00:00:00-04:56:02",
        "0000-00-00T00:00:00+0000",
        "10000-01-01T00:00:00Z",
        "+275760-09-13T00:00:00.000Z",
        "-271821-04-20T00:00:00.000Z",
        "292278994-08-17T07:12:55.807Z",
    ],
)
def test_a_time_that_stands_for_none_is_kept_as_sent(text: str) -> None:
    """What systems send for no time is accepted, also where Python's calendar cannot say it."""
    assert instant(text, "") == text
