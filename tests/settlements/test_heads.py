"""Files with a row for each statement or payout: they say which payout pays a statement, and what it carries over."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.finance.released import finance_sql
from pipelines.ledger import User
from pipelines.settlements.importing import undo_import
from pipelines.settlements.lines import SettlementError
from pipelines.settlements.mapping import MappingError
from tests.settlements.conftest import Books

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.settlements.statements import World

MAPPING = """platform = "dash"
orders = { platform = ["dashline"] }
[file]
names = "lines*.csv"
[line]
statement = "stm"
order = "no"
date = { column = "day", form = "%Y-%m-%d" }
type = "fee"
currency = "EUR"
[components]
fee = "+amount"
[statements]
names = "heads*.csv"
decimal = ","
delimiter = ";"
statement = "Statement"
payout = "Paid by"
date = { column = "Made on", form = "%d.%m.%Y" }
opening = "+Before"
paid = ["+Paid", "-Fee"]
closing = "+After"
[payouts]
names = "paid*.csv"
payout = "Payout"
statement = "For"
date = { column = "Date", form = "%Y-%m-%d" }
currency = { column = "Cur" }
amount = "+Amount"
[bank]
date = { column = "Date", form = "%Y-%m-%d" }
amount = "+Amount"
currency = "EUR"
text = "Text"
payout = '(PO[0-9])'
"""
LINES = "stm,no,day,amount\nA,,2026-11-01,10.00\nB,,2026-11-02,20.00\nC,,2026-11-08,30.00\n"
HEADS = """Statement;Paid by;Made on;Before;Paid;Fee;After
A;PO1;03.11.2026;0,00;8,50;0,50;2,00
B;PO1;03.11.2026;2,00;22,00;;0
C;;10.11.2026;;30,00;;
"""
PAID = "Payout,For,Date,Cur,Amount\nPO1,A,2026-11-03,EUR,8.00\nPO1,B,2026-11-03,EUR,22.00\n"
PAID += "PO2,C,2026-11-10,EUR,18.00\nPO3,C,2026-11-11,EUR,12.00\n"
BANK = "Date,Amount,Text\n2026-11-04,30.00,dash PO1\n2026-11-12,17.99,dash PO2\n"
STATES = "select payout_ref, payout_state, stated_amount, bank_amount, line_count from mart.payouts order by 1"


@pytest.fixture
def small(tmp_path: Path, made: World) -> Iterator[tuple[Books, duckdb.DuckDBPyConnection]]:
    """Give the files beside an empty ledger, and a connection."""
    books = Books(tmp_path, made.orders)
    files = {"m.toml": MAPPING, "lines.csv": LINES, "heads.csv": HEADS, "paid.csv": PAID, "b.csv": BANK}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with duckdb.connect(config={"threads": 1}) as con:
        yield books, con


@pytest.mark.parametrize(
    "order", [["lines.csv", "heads.csv", "paid.csv"], ["paid.csv", "heads.csv", "lines.csv"], [""]]
)
def test_heads_say_what_statements_pay(small: tuple[Books, duckdb.DuckDBPyConnection], order: list[str]) -> None:
    """Two statements are in one credit, one is paid in two: whichever file is first, or a folder of them."""
    books, con = small
    for name in order:
        books.statement(name, "m")
    books.bank("b.csv", "m")
    books.build(con)
    found = con.execute(STATES).fetchall()
    assert found == [
        ("PO1", "paid", 30, 30, 2),
        ("PO2", "differs", 18, Decimal("17.99"), 0),
        ("PO3", "not_at_bank", 12, None, 0),
    ]
    balances = (
        "select statement_ref, payout_ref, opening_amount, paid_amount, closing_amount, rounding_amount, gap_amount"
    )
    assert con.execute(f"{balances} from mart.settlement_statements order by 1").fetchall() == [
        ("A", "PO1", 0, 8, 2, 0, None),
        ("B", "PO1", 2, 22, 0, 0, 0),
        ("C", None, None, 30, None, 0, None),
    ]
    clearing = f"select sum(amount) from ({finance_sql('journal_settlements')}) where account_class = 'clearing'"
    assert con.execute(clearing).fetchall() == [(Decimal("12.01"),)], "PO3, and the cent of PO2"
    breaks = "select break_key, amount from audit.settlement_breaks where break_key like 'payout:%'"
    assert con.execute(breaks).fetchall() == [("payout:dash/PO2/EUR", Decimal("0.01"))]


def test_a_file_of_payouts_alone_names_them(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """Without heads; a later file replaces the payouts that it names, and undone it never was."""
    books, con = small
    books.statement("lines.csv", "m")
    books.statement("paid.csv", "m")
    books.build(con)
    assert [row[:3] for row in con.execute(STATES).fetchall()] == [
        ("PO1", "not_at_bank", 30),
        ("PO2", "not_at_bank", 18),
        ("PO3", "not_at_bank", 12),
    ]
    (books.folder / "paid.csv").write_text("Payout,For,Date,Cur,Amount\nPO2,C,2026-11-10,EUR,17.00\n", encoding="utf-8")
    with pytest.raises(SettlementError, match=r"paid\.csv: ledger entry 2 has some of its rows; --supersede"):
        books.statement("paid.csv", "m")
    (done,) = books.statement("paid.csv", "m", supersede=True)
    assert (done.entry_no, done.replaced) == (3, 1)
    with pytest.raises(SettlementError, match="imported before, as ledger entry 3"):
        books.statement("paid.csv", "m")
    with duckdb.connect(config={"threads": 1}) as later:
        assert [row[2] for row in books.build(later).execute(STATES).fetchall()] == [30, 17, 12]
        rounding = "select rounding_amount from mart.settlement_statements where statement_ref = 'C'"
        assert later.execute(rounding).fetchall() == [(-1,)], "29.00 is stated to be paid of 30.00"
    undo_import(books.ledger, 3, "by mistake", User(1, "Anne"))
    with duckdb.connect(config={"threads": 1}) as later:
        assert [row[2] for row in books.build(later).execute(STATES).fetchall()] == [30, 18, 12]


def test_payout_rows_among_the_lines_name_several(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """A statement whose lines name no payout is paid in the two of its payout rows."""
    books, con = small
    text = MAPPING.replace('type = "fee"', 'type = { column = "kind", fee = ["F"], payout = ["P"] }\npayout = "by"')
    (books.folder / "m.toml").write_text(text, encoding="utf-8")
    rows = "C,,2026-11-08,30.00,F,\nC,,2026-11-10,-18.00,P,PO2\nC,,2026-11-11,-12.00,P,PO3\n"
    (books.folder / "lines.csv").write_text("stm,no,day,amount,kind,by\n" + rows, encoding="utf-8")
    books.statement("lines.csv", "m")
    books.bank("b.csv", "m")
    books.build(con)
    assert con.execute(STATES).fetchall() == [
        ("PO1", "not_stated", None, 30, 0),
        ("PO2", "differs", 18, Decimal("17.99"), 0),
        ("PO3", "not_at_bank", 12, None, 0),
    ]


def test_a_converted_statement_is_paid_in_its_own_currency(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """Lines in dollars, payouts in euros: one that pays all of A, and two that pay C; no balance is in dollars."""
    books, con = small
    text = MAPPING.replace('currency = "EUR"', 'currency = "USD"\nsettled_currency = "EUR"\nexchange_rate = "rate"', 1)
    (books.folder / "m.toml").write_text(text, encoding="utf-8")
    rows = "A,,2026-11-01,10.00,0.8\nC,,2026-11-08,60.00,0.5\n"
    (books.folder / "lines.csv").write_text("stm,no,day,amount,rate\n" + rows, encoding="utf-8")
    for name in ("lines.csv", "paid.csv"):
        books.statement(name, "m")
    books.build(con)
    states = "select payout_ref, currency, stated_amount, payout_state from mart.payouts order by 1"
    assert con.execute(states).fetchall() == [
        ("PO1", "EUR", 8, "not_at_bank"),
        ("PO2", "EUR", 18, "not_at_bank"),
        ("PO3", "EUR", 12, "not_at_bank"),
    ]
    assert con.execute("select distinct paid_amount from mart.settlement_statements").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("A;PO1", ";PO1", r"heads\.csv, row 2, column statement: is empty"),
        ("8,50", "8.50", r"heads\.csv, row 2, column Paid: no amount"),
        ("03.11.2026;0", "3/11/26;0", r"heads\.csv, row 2, column Made on: not of the form"),
        ("Made on", "Day", r"heads\.csv, row 1: has no column Made on"),
    ],
)
def test_a_bad_cell_refuses_the_file(
    small: tuple[Books, duckdb.DuckDBPyConnection], old: str, new: str, said: str
) -> None:
    """By row and column."""
    books, _ = small
    (books.folder / "heads.csv").write_text(HEADS.replace(old, new), encoding="utf-8")
    with pytest.raises(SettlementError, match=said):
        books.statement("heads.csv", "m")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('closing = "+After"', 'closing = "After"', r"\[statements\].*must be \+ or -"),
        ('payout = "Payout"\n', "", "missing required field `payout` - at `payouts`"),
        ('delimiter = ";"', 'delimiter = ";;"', r"\[statements\].*must be one character"),
    ],
)
def test_a_bad_key_is_named(small: tuple[Books, duckdb.DuckDBPyConnection], old: str, new: str, said: str) -> None:
    """With its table."""
    books, _ = small
    (books.folder / "m.toml").write_text(MAPPING.replace(old, new), encoding="utf-8")
    with pytest.raises(MappingError, match=said):
        books.statement("heads.csv", "m")
