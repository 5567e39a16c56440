"""The table of a user's accounts and taxes, `accounts.toml`: `class[/platform[/store]] = account`, exactly.

    receivable = "1200"                 # in [accounts]
    "receivable/web/12" = "1211"
    "component:phone fee" = "4300"

    [[tax]]
    class = "subtotal_price"
    rate = 0.07
    code = "V7"

A part of an order has the first tax whose class, store, platform and days it meets. Tax is rounded for each order.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import hashlib
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import msgspec

from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

TAX_IN_SALES, TAX_PAYABLE, TAX_BY_PLATFORM = "tax_in_sales", "tax_payable", "tax_by_platform"


class Tax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate; `included`: the part has it, else it comes on top; reverse_charge: a code alone."""

    of_class: str = msgspec.field(name="class")
    rate: Decimal
    code: str = ""
    included: bool = True
    collected_by_platform: bool = False
    reverse_charge: bool = False
    store: int | None = None
    platform: str | None = None
    first_day: dt.date | None = msgspec.field(name="from", default=None)
    last_day: dt.date | None = msgspec.field(name="to", default=None)

    def is_of(self, part: str, platform: str | None, store_id: int | None, day: dt.date) -> bool:
        """Return whether a part of an order has this tax."""
        return (
            self.of_class == part
            and self.store in {None, store_id}
            and self.platform in {None, platform}
            and (self.first_day is None or self.first_day <= day)
            and (self.last_day is None or day <= self.last_day)
        )

    def on(self, amount: Decimal, digits: int) -> Decimal:
        """Return the tax on an amount, rounded half up to the digits of its currency."""
        if self.reverse_charge:
            return Decimal(0)
        return rounded(amount * self.rate / (1 + self.rate) if self.included else amount * self.rate, digits)


class Accounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Account by class, taxes, and the names that NetSuite and Xero want."""

    accounts: dict[str, str] = {}
    tax: tuple[Tax, ...] = ()
    subsidiary: str = ""  # NetSuite's
    locations: dict[str, str] = {}  # store → NetSuite's location, Xero's option
    tracking: str = ""  # Xero's category for these options
    no_tax: str = ""  # Xero's tax rate of lines without a tax code

    def account(self, part: str, platform: str | None, store_id: int | None) -> str | None:
        """Return the account of a class: the one of the store, else of the platform, else of the class."""
        of_platform = f"{part}/{platform or 'unknown'}"
        keys = (f"{of_platform}/{store_id}", of_platform, part)
        return next((self.accounts[key] for key in keys if self.accounts.get(key)), None)

    def tax_of(self, part: str, platform: str | None, store_id: int | None, day: dt.date) -> Tax | None:
        """Return the tax of a part of an order, if it has one."""
        return next((tax for tax in self.tax if tax.is_of(part, platform, store_id, day)), None)


def rounded(amount: Decimal, digits: int) -> Decimal:
    """Return an amount rounded half up, away from zero."""
    return amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def read_accounts(path: Path) -> tuple[Accounts, str]:
    """Return the accounts of a file and its SHA-256; raise SettingsError naming the key that is wrong."""
    try:
        content = path.read_bytes()
        found = msgspec.convert(tomllib.loads(content.decode(), parse_float=Decimal), Accounts)
    except OSError as error:
        raise SettingsError(f"--map: {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"--map: {path}: {error}") from None
    if any(not 0 <= tax.rate < 1 for tax in found.tax):
        raise SettingsError(f"--map: {path}: [[tax]] rate must be a share such as 0.07")
    return found, hashlib.sha256(content).hexdigest()
