"""Statements and the bank in the journal: receivable, clearing and unmatched are the open items, to the cent."""

from __future__ import annotations

import csv
import datetime as dt
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.exporting import Export, check, export, files_of, parse_store_days
from pipelines.finance.journal import Accounts, JournalEntry, JournalLine
from pipelines.finance.reconciliation import accept_breaks
from pipelines.finance.released import FinanceError, period_of
from pipelines.ledger import User
from pipelines.report.explain import explain_order
from pipelines.settlements.importing import import_bank, import_statements
from pipelines.settlements.mapping import read_mapping
from tests.forked import ordermart
from tests.settlements.statements import MAPPINGS

if TYPE_CHECKING:
    from pathlib import Path

AT, NEXT = "2026-10-31T10:00:00Z", "2026-11-02T10:00:00Z"
ANNE = User(1001, "Anne")
CLASSES = (
    "receivable clearing unmatched bank bank_fees subtotal_price delivery_price discount tip commission marketing "
    "adjustment"
).split()
HEADER = (
    "payout_id,merchant_store_id,client_order_id,transaction_date_local,transaction_type,currency,order_subtotal,"
    "delivery_fees,staff_tip,merchant_promotions,adjustment,commission,commission_tax,marketing_fee,net_total\n"
)
Sums = dict[tuple[str, str], Decimal]


def row(order: Any, day: str, gross: str = "8.25", kind: str = "DELIVERY", payout: int = 1, **more: str) -> str:
    """Return a row of a statement."""
    adjustment, commission, fee = (more.get(name, "0") for name in ("adjustment", "commission", "fee"))
    net = Decimal(gross) + Decimal(adjustment) - Decimal(commission) - Decimal(fee)
    return f"PO-{payout:06d},1,{order},{day},{kind},EUR,{gross},0,0,0,{adjustment},{commission},0,{fee},{net}\n"


FIRST = HEADER + "".join(
    [
        row(1, "10/31/2026", commission="1.00"),
        row(1, "10/31/2026"),  # settled twice
        row(2, "10/31/2026", commission="1.10"),  # sold under an older name
        row(99, "10/31/2026", "5.00", commission="0.50"),  # of nobody
        row(3, "10/31/2026", "8.24"),  # a cent too little
        row("", "10/31/2026", "0", "MERCHANT_FEE", fee="2.00"),
        row(2, "10/31/2026", "0", "ADJUSTMENT", adjustment="-1.00"),
        row(4, "11/02/2026"),
    ]
)
LATER = HEADER + row(1, "10/31/2026", "0", "ADJUSTMENT", 2, adjustment="-0.50")
CORRECTED = HEADER + row(1, "10/31/2026", "0", "ADJUSTMENT", 2, adjustment="-0.75")
BANK = "Booking date,Amount,Remittance\n2026-11-03,39.89,PO-000001\n2026-11-04,5.00,Jane Canary\n"


def imported(books: Any, folder: Path, name: str, text: str, **options: Any) -> None:
    """Import a statement, or the bank's file, and publish."""
    (folder / name).write_text(text, encoding="utf-8")
    mapping = (MAPPINGS / "dashline.toml").read_text("utf-8").replace('= ["dashline"]', '= ["web", "old web"]')
    (folder / "dashline.toml").write_text(mapping, encoding="utf-8")
    read = read_mapping(folder / "dashline.toml")
    if name == "bank.csv":
        import_bank(books.ledger, folder / name, read, **options)
    else:
        import_statements(books.ledger, folder / name, read, **options)
    books.publish()


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Close two days, whose orders a statement settles well and badly; its payout is at the bank."""
    folder = tmp_path_factory.mktemp("statements")
    books = books_of(folder / "books")
    books.set(formula=rules, finance={"currency": "EUR"})
    for order_id in range(1, 7):
        platform = "old web" if order_id == 2 else "web"
        at = NEXT if order_id == 6 else AT
        books.land(order_id, **balanced | {"created_at": at, "store_id": 1, "platform": platform})
    books.land(7, **balanced | {"created_at": AT, "store_id": 1, "platform": "phone"})
    books.publish()
    books.close("2026-10-31")
    books.close("2026-11-02")
    imported(books, folder, "transactions_1.csv", FIRST)
    imported(books, folder, "bank.csv", BANK)
    return books


@pytest.fixture
def books(template: Any, tmp_path: Path) -> Any:
    """Give a copy, with a map of accounts beside it."""
    made = template.copied(tmp_path / "books")
    lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
    (tmp_path / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")
    return made


def exported(books: Any, folder: Path, period: str, **options: Any) -> Any:
    """Export a period as csv."""
    given: dict[str, Any] = {"draft": False, "left_out": ()} | options
    chosen = period_of(books.settings, period)
    return export(books.settings, chosen, folder / "accounts.toml", "csv", folder / "out", user=ANNE, **given)


def sums(books: Any) -> Sums:
    """Return the balance of each class and platform in the journals of all periods; nothing stops or differs."""
    found: Sums = defaultdict(Decimal)
    for done in check(books.settings, "", None):
        assert (done.journal.differences, done.journal.stops) == ([], {})
        for each in done.journal.entries:
            assert sum(line.amount for line in each.lines) == 0, each.number
            for line in each.lines:
                found[line.account_class, line.platform or ""] += line.amount
    return {key: amount for key, amount in found.items() if amount}


def lines_of(done: Any, kind: str) -> list[dict[str, str]]:
    """Return the lines of all files whose number has `kind` in it."""
    lines = [line for file in done.files for line in csv.DictReader(file.read_text("utf-8").splitlines())]
    return [line for line in lines if f"-{kind}-" in line["entry_no"]]


@pytest.mark.slow
def test_receivable_is_the_open_items_to_the_cent(books: Any) -> None:
    """By platform; clearing is the amount that the bank lacks, unmatched the net of lines of nobody."""
    found = sums(books)
    open_items = books.all(
        "select orders.platform, sum(settled.open_amount) from mart.order_settlements as settled "
        "inner join mart.orders as orders using (order_id) group by all"
    )
    assert {key[1]: amount for key, amount in found.items() if key[0] == "receivable"} == {
        "phone": Decimal("8.25"),  # nobody settles it
        **{platform: amount for platform, amount in open_items if amount},
    }
    assert dict(open_items) == {"web": Decimal("16.51"), "old web": 0}
    ((difference,),) = books.all("select difference from mart.payouts where payout_ref = 'PO-000001'")
    assert {key[0]: amount for key, amount in found.items() if key[1] == "dashline"} == {
        "clearing": difference,
        "bank": Decimal("39.89"),
        "unmatched": Decimal("-12.75"),
        "commission": Decimal("2.10"),
        "marketing": Decimal("2.00"),
        "adjustment": Decimal("1.00"),
    }


@pytest.mark.slow
def test_a_later_import_leaves_an_exported_period_as_it_is(books: Any, tmp_path: Path, balanced: Any) -> None:
    """A line of a period that was exported is posted on the first open day, and names its own; so what changes."""
    first = exported(books, tmp_path, "2026-10")
    content = first.files[0].read_bytes()
    days = {(line["entry_no"].rpartition("-")[2], line["date"]) for line in lines_of(first, "settlement")}
    assert days == {("L3", "2026-10-31")}
    imported(books, tmp_path, "transactions_2.csv", LATER)
    again = exported(books, tmp_path, "2026-10")
    assert ([file.read_bytes() for file in again.files], again.entry_no) == ([content], None)
    november = exported(books, tmp_path, "2026-11")
    late = {
        (line["date"], line["memo"])
        for line in lines_of(november, "settlement")
        if line["entry_no"] == "OM-2026-11-20261031-S1-settlement-EUR-L6"
    }
    memo = "Statement of dashline, 2026-10-31, store 1, ledger entry 6, change since OM-2026-10-20261031-S1-settlement-"
    assert late == {("2026-11-01", memo + "EUR-L3")}
    assert {line["date"] for line in lines_of(november, "bank")} == {"2026-11-03"}
    before = november.files[0].read_bytes()
    # order 99 appears, and the statement is corrected
    books.land(99, **balanced | {"created_at": NEXT, "store_id": 1, "platform": "web", "total_price": "8.25"})
    imported(books, tmp_path, "transactions_3.csv", CORRECTED, supersede=True)
    assert exported(books, tmp_path, "2026-10").files[0].read_bytes() == content
    again = exported(books, tmp_path, "2026-11")
    assert (again.files[0].read_bytes(), again.new_count) == (before, 1)
    with again.files[1].open(encoding="utf-8", newline="") as file:
        change = list(csv.DictReader(file))
    number = {line["entry_no"] for line in change}
    assert number == {f"OM-2026-11-20261031-S1-settlement-EUR-L{[*books.ledger.entries('statement')][-1].no}"}
    moved = {(line["class"], line["debit"], line["credit"]) for line in change}
    assert moved == {
        ("receivable", "", "5.00"),
        ("unmatched", "4.50", ""),
        ("commission", "0.50", ""),
        ("adjustment", "0.25", ""),
        ("clearing", "", "0.25"),
    }
    assert {line["date"] for line in change} == {"2026-11-01"}
    assert exported(books, tmp_path, "2026-12").files == ()
    receipt = explain_order(books.settings, 1)
    numbers = receipt[receipt.index("Exported in the journal's entries") + 1 :]
    assert numbers[:2] == ["  OM-2026-10-20261031-S1-sales-EUR", "  OM-2026-10-20261031-S1-settlement-EUR-L3"]
    assert explain_order(books.settings, 5)[-1] == numbers[0]  # never settled
    (tmp_path / "out").rename(tmp_path / "kept")
    kept = {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()}
    for period in ("2026-10", "2026-11"):
        exported(books, tmp_path, period)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == kept


@pytest.mark.slow
def test_accepted_breaks_are_written_off_once(books: Any, tmp_path: Path, balanced: Any) -> None:
    """On the day of the order, line or payout; a class without an account stops it; gone, it is reversed later."""
    before = sums(books)
    accept_breaks(books.settings, ["line:3/3"], "asked them", ANNE)
    assert sums(books) == before
    keys = ["line:3/3", "line:3/5", "settlement:dashline/3", "payout:dashline/PO-000001/EUR"]
    entry = accept_breaks(books.settings, keys, "too small to ask", ANNE, "loss")
    loss = before["clearing", "dashline"] - Decimal("12.75")
    moved = {("loss", "dashline"): loss, ("loss", "web"): Decimal("0.01"), ("receivable", "web"): Decimal("16.50")}
    gone = {("clearing", "dashline"), ("unmatched", "dashline")}
    assert sums(books) == {key: amount for key, amount in before.items() if key not in gone} | moved
    (stop,) = exported(books, tmp_path, "2026-10").journal.stops.values()
    assert stop.reason == f"class 'loss' of platform dashline has no account (ledger entry {entry.no})"
    with (tmp_path / "accounts.toml").open("a", encoding="utf-8") as file:
        file.write('loss = "6900"\n')
    number = f"OM-2026-10-20261031-S1-writeoff-EUR-L{entry.no}"
    found = {
        (line["class"], line["platform"], line["debit"], line["credit"])
        for line in lines_of(exported(books, tmp_path, "2026-10"), "writeoff")
        if line["entry_no"] == number
    }
    assert found == {
        ("loss", "dashline", "", "12.75"),
        ("unmatched", "dashline", "12.75", ""),
        ("loss", "web", "0.01", ""),
        ("receivable", "web", "", "0.01"),
    }
    assert explain_order(books.settings, 3)[-1] == f"  {number}"
    assert number not in " ".join(explain_order(books.settings, 4))
    # order 99 appears: the line is no break any more, nor is its write-off
    books.land(99, **balanced | {"created_at": NEXT, "store_id": 1, "platform": "web"})
    books.publish()
    assert exported(books, tmp_path, "2026-10").entry_no is None
    december = lines_of(exported(books, tmp_path, "2026-12"), "writeoff")
    assert {(line["entry_no"], line["class"], line["debit"], line["credit"]) for line in december} == {
        (f"OM-2026-12-20261031-S1-writeoff-EUR-L{entry.no}-change", "loss", "4.50", ""),
        (f"OM-2026-12-20261031-S1-writeoff-EUR-L{entry.no}-change", "unmatched", "", "4.50"),
    }


@pytest.mark.slow
def test_a_component_without_an_account_stops_its_day(books: Any, tmp_path: Path) -> None:
    """Nothing is written unless the store's day is left out by name; a bank's credit is of no store."""
    file = tmp_path / "accounts.toml"
    whole = file.read_text("utf-8")
    file.write_text(whole.replace("marketing", "unused"), encoding="utf-8")
    (stop,) = exported(books, tmp_path, "2026-10").journal.stops.values()
    assert (stop.order_id, stop.reason) == (
        None,
        "class 'marketing' of platform dashline has no account (ledger entry 3)",
    )
    assert exported(books, tmp_path, "2026-10", left_out=parse_store_days(["2026-10-31:1"])).journal.stops
    file.write_text(whole.replace("bank =", "unused ="), encoding="utf-8")
    assert exported(books, tmp_path, "2026-11").files == ()
    done = exported(books, tmp_path, "2026-11", left_out=parse_store_days(["2026-11-03:none"]))
    assert lines_of(done, "settlement")
    assert not lines_of(done, "bank")
    file.write_text(whole, encoding="utf-8")
    assert lines_of(exported(books, tmp_path, "2026-11"), "bank")


@pytest.mark.slow
def test_a_statement_that_no_release_has_is_named(books: Any, tmp_path: Path) -> None:
    """Imported, and not built: nothing is exported without it."""
    file = tmp_path / "transactions_2.csv"
    file.write_text(LATER, encoding="utf-8")
    mapping = tmp_path / "dashline.toml"
    mapping.write_bytes((MAPPINGS / "dashline.toml").read_bytes())
    import_statements(books.ledger, file, read_mapping(mapping))
    with pytest.raises(FinanceError, match="statements of ledger entry 5 were imported"):
        exported(books, tmp_path, "2026-10")


@pytest.mark.slow
def test_exit_codes_of_the_command(books: Any, tmp_path: Path, balanced: Any) -> None:
    """0 written, also as a draft; 1 another entry than before; 2 usage; 3 stopped, unless left out by name."""
    file, out = tmp_path / "accounts.toml", tmp_path / "out"
    environ = {"ORDERMART_CONFIG": str(books.settings.file), "ORDERMART_WAREHOUSE__THREADS": "1"}

    def run(*words: str, period: str = "2026-10") -> tuple[int, str]:
        given = ("--map", str(file), "--out", str(out), "--period", period)
        done = ordermart(("journal", *given, *words), environ, timeout=120)
        return done.returncode, done.stdout + done.stderr

    whole = file.read_text("utf-8")
    assert ordermart(("journal", "--check"), environ, timeout=120).returncode == 0
    assert ordermart(("journal", "--period", "2026-10"), environ, timeout=120).returncode == 2
    assert run("--without", "yesterday:1")[0] == 2
    code, said = run("--draft", period="2026-11")
    assert (code, "No ledger entry was written" in said, [each.name for each in out.iterdir()]) == (
        0,
        True,
        ["journal-2026-11-csv-draft.csv"],
    )
    file.write_text(whole.replace("commission", "unused"), encoding="utf-8")
    code, said = run()
    assert (code, "STOPPED 2026-10-31 store 1: class 'commission'" in said, len([*out.iterdir()])) == (3, True, 1)
    file.write_text(whole, encoding="utf-8")
    assert run()[0] == 0
    content = (out / "journal-2026-10-csv-1.csv").read_bytes()
    assert (run()[0], (out / "journal-2026-10-csv-1.csv").read_bytes()) == (0, content)
    file.write_text(whole.replace('receivable = "', 'receivable = "9'), encoding="utf-8")
    code, said = run()
    assert (
        code,
        "an earlier export has other entries" in " ".join(said.split()),
        (out / "journal-2026-10-csv-1.csv").read_bytes(),
    ) == (1, True, content)
    file.write_text(whole, encoding="utf-8")
    # a residual that nobody accepted
    off = {"created_at": "2026-11-05T10:00:00Z", "store_id": 1, "total_price": "8.30"}
    books.land(8, **balanced | off)
    books.publish()
    books.close("2026-11-05")
    books.publish()
    code, said = run(period="2026-11")
    assert (code, "order 8: its break is open" in said) == (3, True)
    assert ordermart(("journal", "--check"), environ, timeout=120).returncode == 3
    code, said = run("--without", "2026-11-05:1", period="2026-11")
    assert (code, "without 2026-11-05 S1" in (out / "journal-2026-11-csv-1.csv").read_text("utf-8")) == (0, True)


@pytest.mark.slow
def test_own_periods_two_currencies_and_tax_of_the_platform(
    tmp_path: Path, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> None:
    """Entries are in the period that holds their day, each of one currency; a platform's tax is not ours to pay."""
    books = books_of(tmp_path / "books")
    lines = "period,first_day,last_day\nP10,2026-10-05,2026-11-01\nP11,2026-11-02,2026-11-29\n"
    (books.settings.file.parent / "periods.csv").write_text(lines, encoding="utf-8")
    books.set(formula=rules, closing={"periods_file": "periods.csv"})
    for store_id, currency in ((1, "EUR"), (2, "USD")):
        books.world.land(
            "stores", [{"id": store_id, "at": -80_000, "document": books.store(store_id, currency=currency)}]
        )
        at = "2026-11-01T12:00:00Z"
        books.land(store_id, **balanced | {"created_at": at, "store_id": store_id, "platform": "web"})
    books.publish()
    books.close("P10")
    dollars = row(2, "11/03/2026").replace(",1,2,", ",2,2,").replace("EUR", "USD")
    imported(books, tmp_path, "transactions_1.csv", HEADER + row(1, "11/01/2026") + dollars)
    tax = '[[tax]]\nclass = "subtotal_price"\nrate = 0.07\nplatform = "web"\ncollected_by_platform = true\n'
    classes = [*CLASSES, "tax_in_sales", "tax_by_platform"]
    text = "".join(f'{name} = "{place}"\n' for place, name in enumerate(classes, 1000))
    (tmp_path / "accounts.toml").write_text(f"[accounts]\n{text}{tax}", encoding="utf-8")
    first, second = check(books.settings, "", tmp_path / "accounts.toml")
    assert [{each.number for each in done.journal.entries} for done in (first, second)] == [
        {
            "OM-P10-20261101-S1-sales-EUR",
            "OM-P10-20261101-S1-settlement-EUR-L2",
            "OM-P10-20261101-S2-sales-USD",
        },
        {"OM-P11-20261103-S2-settlement-USD-L2"},
    ]
    sales = next(each for each in first.journal.entries if each.kind == "sales")
    taxes = {line.account_class: line.amount for line in sales.lines if line.account_class.startswith("tax")}
    assert taxes == {"tax_in_sales": Decimal("0.47"), "tax_by_platform": Decimal("-0.47")}
    assert (first.journal.stops, first.journal.differences, second.journal.differences) == ({}, [], [])


def entries_of(count: int, lines: int) -> list[JournalEntry]:
    """Return so many entries of so many lines."""
    day = dt.date(2026, 10, 31)
    amounts = [Decimal(1)] * (lines - 1) + [Decimal(1 - lines)]
    made = tuple(JournalLine("1000", "receivable", None, "", amount) for amount in amounts)
    return [JournalEntry(f"OM-{number}", day, (day, 1), "EUR", "memo", 1, made) for number in range(count)]


def test_files_and_entries_keep_to_the_bounds_of_their_systems() -> None:
    """Xero takes 300 lines a file, whole entries; NetSuite 200 lines an entry, and more is refused."""
    accounts = Accounts(no_tax="Tax Exempt")
    xero = list(files_of(Export("2026-10", "xero", 1, (), entries_of(7, 100)), accounts))
    assert [len(content.splitlines()) - 1 for _, content in xero] == [300, 300, 100]
    assert [name for name, _ in xero] == [f"journal-2026-10-xero-1-{number}.csv" for number in (1, 2, 3)]
    ((_, fits),) = files_of(Export("2026-10", "netsuite", 1, (), entries_of(2, 200)), accounts)
    assert len(fits.splitlines()) == 401
    with pytest.raises(FinanceError, match="more than 200 lines"):
        list(files_of(Export("2026-10", "netsuite", 1, (), entries_of(1, 201)), accounts))
