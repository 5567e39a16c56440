"""Journals of a period: what orders count, by the ledger alone; exported once, reversed after a reopening."""

from __future__ import annotations

import csv
import datetime as dt
import re
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines.finance.exporting import JournalExport, check, export, parse_store_days
from pipelines.finance.journal import Journal, StoppedDay, read_accounts, unbalanced
from pipelines.finance.reconciliation import accept_breaks
from pipelines.finance.released import BookPeriod, FinanceError, period_of
from pipelines.ledger import CLOSED_ORDERS, User
from pipelines.report.finance_views import journal_lines
from pipelines.settings import SettingsError

DAY, AT, NEXT = "2026-10-31", "2026-10-31T10:00:00Z", "2026-11-02T10:00:00Z"
BEAN_CHECK = Path(__file__).parents[2] / ".venv-beancount" / "bin" / "bean-check"
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


@pytest.mark.long
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
    with pytest.raises(FinanceError, match=r"-sales-EUR: delivery_price is now -4.0000 on account Income:Carriage, "):
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
    left = parse_store_days([f"{DAY}:1"])
    assert exported(books, tmp_path, left_out=left, draft=True).journal.stops
    for wrong in ("2026-10-31", "2026-10-31:", "yesterday:1"):
        with pytest.raises(SettingsError):
            parse_store_days([wrong])
    text = "\n".join(journal_lines(done))
    assert "STOPPED 2026-10-31 store 1, order 2: class 'component:phone fee' of platform phone has no account; " in text
    assert "total_price with stopped store-days 25.30 EUR, without 0.00 EUR" in text
    assert "--without" in text


def test_each_stop_names_its_command() -> None:
    """An open break can be accepted with a class; each store's day can be left out."""
    day = dt.date(2026, 10, 31)
    stops: dict[Any, StoppedDay] = {
        (day, 1): StoppedDay(day, 1, 3, "its break is open"),
        (day, None): StoppedDay(day, None, None, "class 'fee' has no account"),
    }
    text = [*journal_lines(JournalExport(Journal(BookPeriod(day, day, "2026-10"), stops=stops), is_stopped=True))]
    assert "ordermart breaks accept 3 --reason TEXT --account-class CLASS`" in text[4]
    assert [line.partition("export ")[2] for line in text[2:5:2]] == [
        "`--without 2026-10-31:none`",
        "`--without 2026-10-31:1`",
    ]


def planted(books: Any, order_id: int, **change: Any) -> None:
    """Close the day again, by the ledger alone, with one order that has other values."""
    entry = [*books.ledger.entries("closed")][-1]
    rows = books.ledger.rows(entry).to_pylist()
    books.reopen(DAY)
    altered = [row | change if row["order_id"] == order_id else row for row in rows]
    books.ledger.append("closed", entry.body, pa.Table.from_pylist(altered, schema=CLOSED_ORDERS))


OFF = {"total_price": Decimal("8.26"), "total_part_amounts": [Decimal("7.26"), Decimal(2), Decimal(-1)]}
UNLIKE = {"payload_sha256": "another document", "total_parts": None, "total_part_amounts": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"total_price": None}, "an amount of its total is not known"),
        (UNLIKE, "an amount of its total is not known"),
        ({"currency": None}, "its currency is unknown"),
        ({"total_residual": Decimal("0.01")}, "its parts do not add up to its total"),
        (OFF, "a part of its total is not the amount that it states"),
        ({"total_price": Decimal("8.255"), "total_residual": Decimal("0.005")}, "its total has more decimals"),
        ({"total_price": Decimal("8.35"), "total_residual": Decimal("0.1"), "break_content": "x"}, "its break is open"),
    ],
)
def test_each_planted_fault_stops_its_day(books: Any, change: dict[str, Any], reason: str) -> None:
    """By the first order that cannot be booked; no entry of the day is left."""
    accepted(books)
    planted(books, 1, **change)
    (done,) = check(books.settings, "2026-10", None)
    (stop,) = done.journal.stops.values()
    assert (stop.order_id, done.journal.entries) == (1, [])
    assert stop.reason.startswith(reason)


@pytest.mark.slow
def test_an_older_close_is_booked_if_the_release_has_its_document(books: Any) -> None:
    """Without platform and parts in the ledger, both come from the order's document of the same hash."""
    accepted(books)
    (before,) = check(books.settings, "2026-10", None)
    planted(books, 2, platform=None, total_parts=None, total_part_amounts=None)
    (after,) = check(books.settings, "2026-10", None)
    assert [each.lines for each in after.journal.entries] == [each.lines for each in before.journal.entries]
    assert after.journal.stops == {}


@pytest.mark.slow
def test_what_differs_from_the_books_is_never_written(books: Any, tmp_path: Path) -> None:
    """A cent more in an entry than in mart.period_books is named and refused; an entry that is off by one, too."""
    accepted(books)
    more = OFF | {"subtotal_price": Decimal("7.26")}
    (before,) = check(books.settings, "2026-10", None)
    planted(books, 1, **more)
    with pytest.raises(
        FinanceError, match=r"total_price of store 1: 25.3100 EUR in entries, 25.3000 in mart.period_books"
    ):
        exported(books, tmp_path)
    assert not (tmp_path / "out").exists()
    assert len(check(books.settings, "2026-10", None)[0].journal.differences) == 2  # its subtotal, too
    (entry,) = before.journal.entries
    first, *others = entry.lines
    off = replace(entry, lines=(first._replace(amount=first.amount + Decimal("0.01")), *others))
    assert list(unbalanced([entry])) == []
    assert [text.partition(": ")[2] for text in unbalanced([off])] == ["0.0100 EUR"]


def test_a_tax_is_of_the_parts_that_it_names(tmp_path: Path) -> None:
    """By class, store, platform and days, the first that fits; included, on top, or a code alone."""
    file = tmp_path / "accounts.toml"
    file.write_text(
        '[[tax]]\nclass = "tip"\nrate = 0.2\nplatform = "web"\nto = 2026-10-31\nincluded = false\n'
        '[[tax]]\nclass = "tip"\nrate = 0.2\nstore = 7\ncode = "S"\n'
        '[[tax]]\nclass = "tip"\nrate = 0.2\nreverse_charge = true\ncode = "R"\n',
        encoding="utf-8",
    )
    found, _ = read_accounts(file)
    day = dt.date(2026, 10, 31)
    cases = [("web", 7, day), ("web", 7, dt.date(2026, 11, 1)), ("app", 1, day)]
    taxes = [found.tax_of("tip", *case) for case in cases]
    assert [tax and (tax.code, tax.on(Decimal("1.00"), 2)) for tax in taxes] == [
        ("", Decimal("0.20")),
        ("S", Decimal("0.17")),
        ("R", Decimal(0)),
    ]
    assert found.tax_of("discount", "web", 7, day) is None
    for wrong in ('unknown = "1"', '[[tax]]\nclass = "tip"\nrate = 7', "[accounts]\nreceivable = 1200"):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises(SettingsError, match="--map"):
            read_accounts(file)


@pytest.mark.slow
@pytest.mark.skipif(not BEAN_CHECK.exists(), reason="beancount is not installed: requirements-beancount.lock")
def test_beancount_takes_the_file(books: Any, tmp_path: Path) -> None:
    """`bean-check` finds nothing; with an amount changed by a cent it does."""
    accepted(books)
    (file,) = exported(books, tmp_path, "beancount").files
    names = sorted({*re.findall(r"^  ([A-Z]\S+)", file.read_text("utf-8"), re.MULTILINE)})
    main = tmp_path / "main.beancount"
    main.write_text("".join(f"2026-01-01 open {name}\n" for name in names) + f'include "{file}"\n', encoding="utf-8")
    assert subprocess.run([BEAN_CHECK, main], check=False, capture_output=True).returncode == 0
    file.write_text(
        file.read_text("utf-8").replace("-6.00 EUR", "-6.01 EUR").replace("-4.00 EUR", "-4.01 EUR"), "utf-8"
    )
    assert b"does not balance" in subprocess.run([BEAN_CHECK, main], check=False, capture_output=True).stderr
