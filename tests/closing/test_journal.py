"""Journals of a period: what orders count, by the ledger alone; exported once, reversed after a reopening."""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.exporting import check, export, places
from pipelines.finance.periods import period_of
from pipelines.finance.reconciliation import accept_breaks
from pipelines.finance.released import FinanceError
from pipelines.ledger import User
from pipelines.report.closes_and_breaks import journal_lines
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

DAY, AT, NEXT = "2026-10-31", "2026-10-31T10:00:00Z", "2026-11-02T10:00:00Z"
ANNE = User(1001, "Anne")
PHONE = {"name": "phone fee", "constant": "0.50", "platform": "phone"}
MAP = """no_tax = "Tax Exempt"
[accounts]
receivable = "Assets:Receivable"
"receivable/phone/1" = "Assets:Receivable:Phone"
subtotal_price = "Income:Food"
delivery_price = "Income:Delivery"
discount = "Income:Discounts"
tip = "Liabilities:Tips"
"component:phone fee" = "Income:Fees"
write_off = "Expenses:WriteOff"
tax_in_sales = "Income:Tax"
tax_payable = "Liabilities:Tax"

[[tax]]
class = "subtotal_price"
rate = 0.07
code = "V7"
"""


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Close a day on which tips are outside the total, a phone fee is in it, and two platforms share a store."""
    books = books_of(tmp_path_factory.mktemp("journal") / "books")
    books.set(
        formula=rules | {"total_rule": "without_tip/unrounded", "component": [PHONE]}, finance={"currency": "EUR"}
    )
    prices = balanced | {"created_at": AT, "store_id": 1, "tip": "3", "platform": "web"}
    books.land(1, **prices)
    books.land(2, **prices | {"platform": "phone", "total_price": "8.75"})
    books.land(3, **prices | {"total_price": "8.30"})
    books.land(4, **prices | {"status": "refused"})
    books.land(5, **prices | {"created_at": NEXT})
    books.publish()
    books.close(DAY)
    books.publish()
    return books


@pytest.fixture
def books(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books, with a map of accounts beside them."""
    made = template.copied(tmp_path / "books")
    (tmp_path / "accounts.toml").write_text(MAP, encoding="utf-8")
    return made


def exported(books: Any, tmp_path: Path, form: str = "csv", period: str = "2026-10", **options: Any) -> Any:
    """Export a period."""
    options = {"draft": False, "left_out": ()} | options
    return export(
        books.settings,
        period_of(books.settings, period),
        tmp_path / "accounts.toml",
        form,
        tmp_path / "out",
        user=ANNE,
        **options,
    )


def rows(done: Any) -> list[dict[str, str]]:
    """Return the lines of all csv files."""
    return [row for file in done.files for row in csv.DictReader(file.read_text("utf-8").splitlines())]


def accounts(lines: list[dict[str, str]]) -> dict[str, Decimal]:
    """Return the balance of each account."""
    found: dict[str, Decimal] = {}
    for row in lines:
        found[row["account"]] = (
            found.get(row["account"], Decimal(0)) + Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
        )
    return found


@pytest.mark.slow
def test_a_day_is_booked_by_the_rule_of_each_order(books: Any, tmp_path: Path) -> None:
    """Open: stopped with its order. Accepted with a class: tips stay outside, tax is rounded per order."""
    stopped = exported(books, tmp_path)
    assert [(stop.order_id, stop.reason) for stop in stopped.journal.stops.values()] == [(3, "its break is open")]
    assert (stopped.files, list(books.ledger.entries("journal"))) == ((), [])
    accept_breaks(books.settings, [3], "agreed", ANNE)
    assert "without --account-class" in str(exported(books, tmp_path).journal.stops)
    accept_breaks(books.settings, [3], "agreed", ANNE, "write_off")
    done = exported(books, tmp_path)
    lines = rows(done)
    assert {row["entry_no"] for row in lines} == {"OM-2026-10-20261031-S1-sales-EUR"}
    assert accounts(lines) == {
        "Assets:Receivable": Decimal("16.55"),
        "Assets:Receivable:Phone": Decimal("8.75"),
        "Income:Food": Decimal("-21.75"),
        "Income:Delivery": Decimal("-6.00"),
        "Income:Discounts": Decimal("3.00"),
        "Income:Fees": Decimal("-0.50"),
        "Expenses:WriteOff": Decimal("-0.05"),
        "Income:Tax": Decimal("1.41"),  # 0.47 of each order; 1.42 of the day
        "Liabilities:Tax": Decimal("-1.41"),
    }
    assert done.journal.outside["EUR", "tip"] == 9
    content = done.files[0].read_bytes()
    again = exported(books, tmp_path)
    assert (again.files[0].read_bytes(), again.entry_no, len(list(books.ledger.entries("journal")))) == (
        content,
        None,
        1,
    )


def accepted(books: Any) -> None:
    """Accept the break of the day."""
    accept_breaks(books.settings, [3], "agreed", ANNE, "write_off")


@pytest.mark.slow
def test_a_reopened_day_is_reversed_and_booked_again(
    books: Any, tmp_path: Path, balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """Posted, then reopened: each is an entry of the period that holds it; what was exported stays as it was."""
    accepted(books)
    first = exported(books, tmp_path)
    before = first.files[0].read_bytes()
    changed = {"delivery_price": "3", "total_price": "9.25", "tip": "3", "platform": "web"}
    books.land(1, hours[1], **balanced | {"created_at": AT, "store_id": 1} | changed)
    books.publish()
    books.post("2026-11")
    books.publish()
    november = exported(books, tmp_path, period="2026-11")
    lines = rows(november)
    numbers = {row["entry_no"] for row in lines}
    assert all(number.startswith("OM-2026-11-20261031-S1-restatement-R") for number in numbers)
    assert {row["date"] for row in lines} == {"2026-11-01"}
    assert accounts(lines) == {"Assets:Receivable": 1, "Income:Delivery": -1}
    books.reopen(DAY)
    books.publish()
    reversed_once = exported(books, tmp_path)
    assert reversed_once.new_count == 1
    assert reversed_once.files[0].read_bytes() == before
    assert {account: balance for account, balance in accounts(rows(reversed_once)).items() if balance} == {}
    books.close(DAY)
    books.publish()
    closed_again = exported(books, tmp_path)
    entry = [*books.ledger.entries("closed")][-1]
    names = [row["entry_no"] for row in csv.DictReader(closed_again.files[2].read_text("utf-8").splitlines())]
    assert {*names} == {f"OM-2026-10-20261031-S1-sales-EUR-L{entry.no}"}
    assert accounts(rows(closed_again))["Assets:Receivable"] == Decimal("17.55")
    assert [file.read_bytes() for file in closed_again.files[:1]] == [before]
    # the posting was reversed in its own period, which is open
    again = exported(books, tmp_path, period="2026-11")
    assert {account for account, balance in accounts(rows(again)).items() if balance} == set()
    assert check(books.settings, "", None)[0].journal.differences == []
    assert [done.journal.period.name for done in check(books.settings, "", None)] == ["2026-10", "2026-11"]


@pytest.mark.slow
def test_an_export_is_never_another_one(books: Any, tmp_path: Path) -> None:
    """Another account is refused with the difference; another form has the same entries; a draft leaves no trace."""
    accepted(books)
    done = exported(books, tmp_path)
    content = done.files[0].read_bytes()
    accounts_file = tmp_path / "accounts.toml"
    accounts_file.write_text(MAP.replace("Income:Delivery", "Income:Carriage"), encoding="utf-8")
    with pytest.raises(FinanceError, match=r"-sales-EUR: delivery_price is now -2.0000 on account Income:Carriage; "):
        exported(books, tmp_path)
    assert done.files[0].read_bytes() == content
    accounts_file.write_text(MAP, encoding="utf-8")
    for form in ("netsuite", "xero", "beancount"):
        assert exported(books, tmp_path, form).new_count == 1
    entries = len(list(books.ledger.entries()))
    draft = exported(books, tmp_path, period="2026-11", draft=True)
    assert {row["memo"][:6] for row in rows(draft)} == {"DRAFT:"}
    assert draft.journal.open_days == {(dt.date(2026, 11, 2), 1)}
    closed = exported(books, tmp_path, period="2026-11")
    assert (closed.files, closed.journal.open_days) == ((), draft.journal.open_days)
    assert len(list(books.ledger.entries())) == entries
    _, *lines = csv.reader((tmp_path / "out/journal-2026-10-netsuite-1.csv").read_text("utf-8").splitlines())
    assert next(row[:3] for row in lines) == ["OM-2026-10-20261031-S1-sales-EUR", "10/31/2026", "Oct 2026"]
    _, *lines = csv.reader((tmp_path / "out/journal-2026-10-xero-1-1.csv").read_text("utf-8").splitlines())
    assert sum(Decimal(row[5]) for row in lines) == 0


@pytest.mark.slow
def test_what_cannot_be_booked_stops_its_day(books: Any, tmp_path: Path) -> None:
    """A class without an account stops the store's day; left out by name it is named in each line."""
    accepted(books)
    (tmp_path / "accounts.toml").write_text(MAP.replace('"component:phone fee"', "unused"), encoding="utf-8")
    done = exported(books, tmp_path)
    (stop,) = done.journal.stops.values()
    assert (stop.order_id, stop.reason) == (2, "class 'component:phone fee' of platform phone has no account")
    left = places([f"{DAY}:1"])
    assert exported(books, tmp_path, left_out=left, draft=True).journal.stops
    for wrong in ("2026-10-31", "2026-10-31:", "yesterday:1"):
        with pytest.raises(SettingsError):
            places([wrong])
    text = "\n".join(journal_lines(done))
    assert "STOPPED 2026-10-31 store 1, order 2" in text
    assert "--without" in text
