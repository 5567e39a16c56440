"""Journals exported every week: the files of all exports together are the tables, whatever was imported in between."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from pipelines.finance.exporting import EXPORTED, check, export
from pipelines.finance.released import FinanceError, period_of
from tests.closing.test_journal_of_statements import ANNE, CLASSES, HEADER, imported, row

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
DAYS = ("2026-11-02", "2026-11-09", "2026-11-16")
BANK = "Booking date,Amount,Remittance\n"
Sums = dict[tuple[str, str], Decimal]


@pytest.fixture
def weeks(tmp_path: Path, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]) -> Any:
    """Give an order a week, of 8.25, on open days."""
    books = books_of(tmp_path / "books")
    books.set(formula=rules, finance={"currency": "EUR"})
    for order_id, day in enumerate(DAYS, 1):
        books.land(order_id, **balanced | {"created_at": f"{day}T10:00:00Z", "store_id": 1, "platform": "web"})
    books.publish()
    lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
    (tmp_path / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")
    return books


def exported(books: Any, folder: Path, period: str = "2026-11", form: str = "csv", **options: Any) -> Any:
    """Export a period."""
    given: dict[str, Any] = {"draft": False, "left_out": ()} | options
    chosen = period_of(books.settings, period)
    return export(books.settings, chosen, folder / "accounts.toml", form, folder / "out", user=ANNE, **given)


def sums(folder: Path) -> Sums:
    """Return the balance of each class and platform over all files that were written."""
    found: Sums = defaultdict(Decimal)
    for file in (folder / "out").glob("*-csv-*.csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            for line in csv.DictReader(lines):
                amount = Decimal(line["debit"] or 0) - Decimal(line["credit"] or 0)
                found[line["class"], line["platform"]] += amount
    return {key: amount for key, amount in found.items() if amount}


def statement(number: int) -> str:
    """Return the month to date: a payout a week."""
    days = [f"{day[5:7]}/{day[8:]}/{day[:4]}" for day in DAYS]
    return HEADER + "".join(row(each + 1, days[each], payout=each + 1, commission="1.25") for each in range(number))


def at_bank(number: int) -> str:
    """Return the bank's month to date."""
    return BANK + "".join(f"{DAYS[each][:-2]}{4 + 7 * each:02d},7.00,PO-{each + 1:06d}\n" for each in range(number))


def right(number: int) -> Sums:
    """Return what so many weeks come to."""
    parts = {"subtotal_price": "-7.25", "delivery_price": "-2", "discount": "1"}
    found = {(name, "web"): number * Decimal(amount) for name, amount in parts.items()}
    return found | {("bank", "dashline"): 7 * Decimal(number), ("commission", "dashline"): number * Decimal("1.25")}


def test_a_month_that_grows_is_posted_once(weeks: Any, tmp_path: Path) -> None:
    """Each week's files supersede the last ones: only the new days are new; without a change nothing is written."""
    for number in (1, 2, 3):
        imported(weeks, tmp_path, "transactions_1.csv", statement(number), supersede=number > 1)
        imported(weeks, tmp_path, "bank.csv", at_bank(number), supersede=number > 1)
        weeks.close(DAYS[number - 1])
        weeks.publish()
        done = exported(weeks, tmp_path)
        assert (sums(tmp_path), done.new_count) == (right(number), 3), number
        assert {str(each.day) for each in check(weeks.settings, "2026-11", None)[0].journal.entries} >= {*DAYS[:number]}
        again = exported(weeks, tmp_path)
        assert (again.entry_no, again.is_stopped) == (None, False)
    other = exported(weeks, tmp_path, form="netsuite")
    assert other.new_count == 9
    empty = exported(weeks, tmp_path, "2026-12")
    assert (empty.files, empty.entry_no, empty.is_stopped) == ((), None, False)
    draft = exported(weeks, tmp_path, draft=True)
    assert draft.files == (), "a draft has what the next export will have"


def test_what_an_older_release_exported_twice_is_taken_back(weeks: Any, tmp_path: Path) -> None:
    """It wrote an entry of each superseding statement in full; the next export is the difference to the tables."""
    imported(weeks, tmp_path, "transactions_1.csv", statement(1))
    imported(weeks, tmp_path, "bank.csv", at_bank(1))
    weeks.close(DAYS[0])
    weeks.publish()
    exported(weeks, tmp_path)
    imported(weeks, tmp_path, "transactions_1.csv", statement(2), supersede=True)
    entry = next(iter(weeks.ledger.entries("journal")))
    again = [each for each in weeks.ledger.rows(entry).to_pylist() if "-settlement-" in each["number"]]
    twice = [each | {"number": each["number"].replace("-L1", f"-L{entry.no + 1}"), "source": 5} for each in again]
    weeks.ledger.append(
        "journal", entry.body | {"export_no": 2, "files": []}, pa.Table.from_pylist(twice, schema=EXPORTED)
    )
    weeks.publish()
    done = exported(weeks, tmp_path)
    assert (sums(tmp_path)["commission", "dashline"], done.new_count) == (Decimal("2.50"), 2)
    assert f"-L{entry.no + 1}-change" in done.files[-1].read_text("utf-8")
    assert exported(weeks, tmp_path).entry_no is None


def test_an_order_of_another_platform_since_moves_its_receivable(
    weeks: Any, tmp_path: Path, balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """Out of one and into the other, by restatements that a period holds; by platform it is the open items."""
    for day in DAYS[:2]:
        weeks.close(day)
    weeks.publish()
    exported(weeks, tmp_path)
    moved = balanced | {"created_at": f"{DAYS[0]}T10:00:00Z", "store_id": 1, "platform": "phone"}
    weeks.land(1, hours[1], **moved)
    weeks.publish()
    rows = weeks.restated("platform", "restatement_amount", "cause")
    assert rows == [("phone", Decimal("8.25"), "platform_changed"), ("web", Decimal("-8.25"), "platform_changed")]
    days = "select platform, current_amount from mart.closed_days where measure = 'total_price' and business_date = ?"
    assert sorted(weeks.all(days.replace("?", f"'{DAYS[0]}'"))) == [("phone", Decimal("8.25")), ("web", 0)]
    weeks.post("2026-12")
    weeks.publish()
    exported(weeks, tmp_path, "2026-12")
    found = {key[1]: amount for key, amount in sums(tmp_path).items() if key[0] == "receivable"}
    assert found == {"phone": Decimal("8.25"), "web": Decimal("8.25")}
    assert weeks.off() == []
    weeks.publish()
    assert len(weeks.restated("restatement_no")) == 2, "recorded once"


def test_a_planted_fault_blocks_the_export(weeks: Any, tmp_path: Path) -> None:
    """A cent more in an export of another form, or in a published table: nothing is written, and the fault is named."""
    imported(weeks, tmp_path, "transactions_1.csv", statement(1))
    weeks.close(DAYS[0])
    weeks.publish()
    exported(weeks, tmp_path)
    (entry,) = weeks.ledger.entries("journal")
    table = weeks.settings.data_dir / "published/current/ordermart.duckdb"
    kept = table.read_bytes()
    table.chmod(0o644)
    with duckdb.connect(str(table)) as con:
        con.execute("update mart.settlement_lines set amount = amount + 0.01 where component = 'commission'")
    with pytest.raises(FinanceError, match=r"mart\.settlement_lines differ by -0\.0100 EUR"):
        exported(weeks, tmp_path)
    table.write_bytes(kept)
    assert exported(weeks, tmp_path).entry_no is None
    rows = weeks.ledger.rows(entry).to_pylist()
    rows[0]["amount"] += Decimal("0.01")
    again = entry.body | {"format": "xero", "files": []}
    weeks.ledger.append("journal", again, pa.Table.from_pylist(rows, schema=EXPORTED))
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(FinanceError, match="has other amounts in another export"):
        exported(weeks, tmp_path)
    assert sorted((tmp_path / "out").iterdir()) == before
