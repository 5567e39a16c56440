"""Write amounts with the digits of their currency, exactly: 40,080 JPY, 1.210 KWD.

Digits come from the build's own function currency_digits.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from decimal import Decimal

_USUAL = 2  # of a currency that is not known
NOT_STATED = "not stated"


@functools.cache
def digits(currency: str | None) -> int:
    """Return the decimals of a currency's smallest unit; two where the currency is not known."""
    if not currency:
        return _USUAL
    from pipelines.warehouse.rows.session import create_functions  # noqa: PLC0415 -- slow, and a status has no money

    with duckdb.connect(":memory:") as con:
        create_functions(con)
        row = con.execute("select currency_digits(?)", [currency]).fetchone()
    return int(row[0]) if row else _USUAL


def money(amount: Decimal | None, currency: str | None = None, *, is_signed: bool = False) -> str:
    """Return an amount exactly, with at least the digits of its currency and at most four; null as 'not stated'."""
    if amount is None:
        return NOT_STATED
    whole, _, decimals = f"{amount:{'+' if is_signed else ''},.4f}".partition(".")
    least = digits(currency)
    shown = decimals[:least] + decimals[least:].rstrip("0")
    return f"{whole}.{shown}" if shown else whole


def money_of(amount: Decimal | None, currency: str | None, *, is_signed: bool = False) -> str:
    """Return an amount followed by its currency, if that is known."""
    text = money(amount, currency, is_signed=is_signed)
    return f"{text} {currency}" if currency and amount is not None else text


def measured(measure: str, amount: Decimal | None, currency: str | None, *, is_signed: bool = False) -> str:
    """Return an amount of a closed day's measure: order_count is a number of orders, not money."""
    if measure == "order_count" and amount is not None:
        return f"{amount:{'+' if is_signed else ''},.0f}"
    return money(amount, currency, is_signed=is_signed)
