"""Importing: the same file, a corrected and an overlapping one; all or nothing; kept with the ledger."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.finance.released import finance_sql
from pipelines.ledger import Ledger, verify
from pipelines.settlements.importing import effective_statements
from pipelines.settlements.lines import SettlementError
from tests.settlements.conftest import Books

if TYPE_CHECKING:
    from tests.settlements.statements import World

HEADER = "Ref,Order,Day,Amount\n"
MAPPING = """
platform = "p"
orders = { platform = ["p"] }
[line]
statement = "Ref"
order = "Order"
date = { column = "Day", form = "%Y-%m-%d" }
type = "order"
currency = "EUR"
[components]
gross = "+Amount"
[bank]
date = { column = "Day", form = "%Y-%m-%d" }
amount = "+Amount"
text = "Text"
payout = '(R\\d)'
"""


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """Give an empty ledger and a mapping."""
    (tmp_path / "p.toml").write_text(MAPPING, encoding="utf-8")
    return Books(tmp_path, [])


def write(books: Books, name: str, *rows: str, header: str = HEADER) -> str:
    """Write a file and return its name."""
    (books.folder / name).write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return name


def amounts(books: Books) -> list[tuple[str | None, str]]:
    """Return the effective statements with their sums."""
    return [(each.ref, each.amounts["EUR"]) for each in effective_statements(books.ledger.entries())]


def test_same_then_corrected_then_again(books: Books) -> None:
    """The same file is refused; a corrected one needs --supersede and replaces the statement whole."""
    first = write(books, "a.csv", "R1,1,2026-10-01,5", "R1,2,2026-10-01,5", "R2,3,2026-10-02,7")
    books.statement(first, "p")
    with pytest.raises(SettlementError, match="imported before, as ledger entry 1"):
        books.statement(write(books, "renamed.csv", *(books.folder / first).read_text().splitlines()[1:]), "p")
    corrected = write(books, "b.csv", "R1,1,2026-10-01,4.99")
    with pytest.raises(SettlementError, match="ledger entry 1 has statement R1"):
        books.statement(corrected, "p")
    assert amounts(books) == [("R1", "10.0000"), ("R2", "7.0000")]
    (done,) = books.statement(corrected, "p", supersede=True)
    assert (done.entry_no, done.replaced) == (2, 1)
    assert sorted(amounts(books), key=str) == [("R1", "4.9900"), ("R2", "7.0000")]
    with pytest.raises(SettlementError, match="imported before"):
        books.statement(first, "p", supersede=True)


def test_overlapping_files_without_references_are_refused(books: Books) -> None:
    """Days that an effective file has need --supersede, which replaces that file; other days are added."""
    books.statement(write(books, "a.csv", ",1,2026-10-01,5", ",2,2026-10-07,5"), "p")
    overlapping = write(books, "b.csv", ",2,2026-10-07,5", ",3,2026-10-14,5")
    with pytest.raises(SettlementError, match="some of its days"):
        books.statement(overlapping, "p")
    books.statement(write(books, "c.csv", ",4,2026-10-15,1"), "p")
    books.statement(overlapping, "p", supersede=True)
    assert sorted(amounts(books)) == [(None, "1.0000"), (None, "10.0000")]


def test_folder_is_read_before_any_file_counts(books: Books) -> None:
    """One bad file of a folder refuses all; a folder given again imports the new files."""
    write(books, "a.csv", "R1,1,2026-10-01,5")
    write(books, "b.csv", "R2,1,2026-10-01,five")
    with pytest.raises(SettlementError, match=r"b\.csv, row 2, column Amount"):
        books.statement("", "p")
    assert list(books.ledger.entries()) == []
    write(books, "b.csv", "R2,1,2026-10-01,5")
    assert [each.entry_no for each in books.statement("", "p")] == [1, 2]
    write(books, "c.csv", "R3,1,2026-10-01,5")
    assert sorted(each.entry_no or 0 for each in books.statement("", "p")) == [0, 0, 3]


def test_bank_files_keep_only_payouts_and_refuse_overlaps(books: Books) -> None:
    """Other rows, and texts, are not kept; days that a file has are not counted twice."""
    header = "Day,Amount,Text\n"
    bank = write(books, "bank.csv", "2026-10-01,5.50,pay R1", "2026-10-02,9,Jane Canary", header=header)
    done = books.bank(bank, "p")
    assert (done.entry_no, done.row_count) == (1, 1)
    again = write(books, "more.csv", "2026-10-02,9,Jane Canary", "2026-10-03,1,R2", header=header)
    with pytest.raises(SettlementError, match="ledger entry 1 has some of its days"):
        books.bank(again, "p")
    books.bank(again, "p", supersede=True)
    kept = b"".join(file.read_bytes() for file in (books.data / "ledger").iterdir())
    assert b"Canary" not in kept


CAMT = """<?xml version="1.0"?>{doctype}<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>
<Stmt><Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{closing}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Ntry><Amt Ccy="EUR">10.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-10-05</Dt></BookgDt>
<NtryDtls><TxDtls><AmtDtls><TxAmt><Amt Ccy="EUR">7.50</Amt></TxAmt></AmtDtls><RmtInf><Ustrd>R1</Ustrd></RmtInf></TxDtls>
<TxDtls><AmtDtls><TxAmt><Amt Ccy="EUR">2.50</Amt></TxAmt></AmtDtls><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls>
</NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">4.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-10-06</Dt></BookgDt>
<NtryDtls><TxDtls><RmtInf><Ustrd>R1 back</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">99.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>PDNG</Sts><BookgDt><Dt>2026-10-06</Dt></BookgDt></Ntry>
</Stmt></BkToCstmrStmt></Document>"""


def test_camt_entries_add_up_to_the_balances(books: Books) -> None:
    """A batch is read by transaction, a debit is negative, a pending entry does not count; a wrong balance refuses."""
    file = books.folder / "camt.xml"
    file.write_text(CAMT.format(doctype="", closing="7.00", text="Jane"), encoding="utf-8")
    books.bank("camt.xml", "p")
    (entry,) = books.ledger.entries()
    rows = books.ledger.rows(entry).to_pylist()
    assert [(row["payout_ref"], str(row["amount"]), str(row["bank_date"])) for row in rows] == [
        ("R1", "7.5000", "2026-10-05"),
        ("R1", "-4.0000", "2026-10-06"),
    ]
    file.write_text(CAMT.format(doctype="", closing="7.01", text="Jane"), encoding="utf-8")
    with pytest.raises(SettlementError, match="closing balance"):
        books.bank("camt.xml", "p", supersede=True)


def camt(amount: str, details: str, *, more: str = "", code: str = "RCDT/ESCT") -> str:
    """Return a booked entry as banks write it."""
    sign, (family, sub_family) = "DBIT" if amount.startswith("-") else "CRDT", code.split("/")
    return f"""<Ntry><Amt Ccy="EUR">{amount.strip("-")}</Amt><CdtDbtInd>{sign}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2026-10-05</Dt></BookgDt><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>{family}</Cd><SubFmlyCd>{sub_family}</SubFmlyCd>
</Fmly></Domn></BkTxCd>{more}<NtryDtls>{details}</NtryDtls></Ntry>"""


def detail(ref: str, amount: str = "", charges: str = "") -> str:
    """Return a transaction of an entry."""
    amounts = f'<AmtDtls><TxAmt><Amt Ccy="EUR">{amount}</Amt></TxAmt></AmtDtls>' if amount else ""
    return f"<TxDtls>{amounts}{charges}<RmtInf><Ustrd>{ref}</Ustrd></RmtInf></TxDtls>"


def charged(amount: str, included: str = "true", currency: str = "EUR") -> str:
    """Return charges with a record; an older version has none."""
    record = f'<Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><ChrgInclInd>{included}</ChrgInclInd>'
    return f'<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">{amount}</TtlChrgsAndTaxAmt><Rcrd>{record}</Rcrd></Chrgs>'


def test_fees_of_camt_are_neither_lost_nor_counted_twice(books: Books, made: World) -> None:
    """Within an entry or a batch, apart, announced only, or of another version: payouts are paid with them.

    The journal has the credits less fees as bank, the fees apart, and nothing stays in clearing.
    """
    older = '<Chrgs><Amt Ccy="EUR">0.40</Amt></Chrgs>'
    entries = [
        camt("9.50", detail("R1", charges=charged("0.50")), more=charged("0.50")),  # said in both places
        camt("19.25", detail("R2", "10.00", charged("0.30")) + detail("R3", "10.00", charged("0.45", "1"))),
        camt("9.60", detail("R4"), more=older),
        camt("10.00", detail("R5", charges=charged("0.70", "false"))),  # announced, and booked apart:
        camt("-0.70", detail("Charges for R5"), code="MDOP/CHRG"),
        camt("10.00", detail("R6", charges=charged("0.20", currency="USD"))),
        camt("-4.00", detail("Account fee October"), code="MDOP/FEES"),
        camt("-9.99", detail("Jane Canary", charges=charged("0.10"))),
    ]
    opening, closing = (
        CAMT.partition("<Ntry>")[0].format(doctype="", closing="44.66"),
        "</Stmt></BkToCstmrStmt></Document>",
    )
    (books.folder / "camt.xml").write_text(opening + "".join(entries) + closing, encoding="utf-8")
    assert books.bank("camt.xml", "p").row_count == 7
    books.statement(write(books, "a.csv", *(f"R{number},{number},2026-10-01,10" for number in range(1, 7))), "p")
    books.orders = made.orders
    with duckdb.connect(config={"threads": 1}) as con:
        books.build(con)
        found = con.execute("select payout_state, bank_amount, bank_fee_amount from mart.payouts order by payout_ref")
        fees = [Decimal(fee) for fee in ("0.5", "0.3", "0.45", "0.4", "0.7", "0")]
        assert found.fetchall() == [("paid", 10 - fee, fee) for fee in fees]
        sums = f"select account_class, sum(amount) from ({finance_sql('journal_settlements')}) group by all"
        booked = dict(con.execute(sums).fetchall())
    assert (booked["bank"], booked["bank_fees"], booked["clearing"]) == (60 - sum(fees), sum(fees), 0)
    off = camt("19.00", detail("R2", "10.00", charged("0.30")) + detail("R3", "10.00", charged("0.45")))
    (books.folder / "camt.xml").write_text(f"<Document><Stmt>{off}</Stmt></Document>", encoding="utf-8")
    with pytest.raises(SettlementError, match="do not add up to the entry"):
        books.bank("camt.xml", "p", supersede=True)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE d [<!ENTITY a "R1"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE d [<!ENTITY a SYSTEM "secret.txt">]>',
        '<!DOCTYPE d SYSTEM "http://127.0.0.1/x.dtd">',
    ],
)
def test_camt_with_entities_is_refused(books: Books, doctype: str) -> None:
    """No entity is ever expanded, nor a file or an address opened; deep nesting and broken XML are refused."""
    (books.folder / "camt.xml").write_text(CAMT.format(doctype=doctype, closing="7.00", text="&a;"), encoding="utf-8")
    with pytest.raises(SettlementError, match="document type"):
        books.bank("camt.xml", "p")
    for text, said in (("<a>" * 100_000, "nested"), ("<a><b></a>", "not valid XML")):
        (books.folder / "camt.xml").write_text(text, encoding="utf-8")
        with pytest.raises(SettlementError, match=said):
            books.bank("camt.xml", "p")


KILLED = """
import os, signal, sys
from pathlib import Path
import pipelines.ledger.chain as chain
from pipelines.settlements.importing import import_statements
from pipelines.settlements.mapping import read_mapping
folder, at = Path(sys.argv[1]), sys.argv[2]
seen = 0
def watch(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove"):
        path = str(arguments[0])
        if "/ledger/" in path:
            seen += 1
            if seen == int(at):
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
import_statements(chain.Ledger(folder / "data" / "ledger"), folder / "a.csv", read_mapping(folder / "p.toml"))
print(seen)
"""


@pytest.mark.slow
def test_a_kill_leaves_all_or_nothing(books: Books) -> None:
    """Killed at each file that an import opens or renames: the ledger is whole, and has the statement or can get it."""
    write(books, "a.csv", *(f"R1,{no},2026-10-01,5" for no in range(50)))
    root = Path(__file__).resolve().parents[2]
    states = set()
    for at in range(1, 40):
        ledger = books.data / "ledger"
        for file in ledger.iterdir() if ledger.exists() else ():
            file.unlink()
        command = [sys.executable, "-c", KILLED, str(books.folder), str(at)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=os.environ)
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        entries = verify(Ledger(ledger)).entries
        states.add(entries)
        if not entries:
            books.statement("a.csv", "p")
        assert amounts(books) == [("R1", "250.0000")]
        if done.returncode == 0:
            break
    assert states == {0, 1}
    assert done.returncode == 0
