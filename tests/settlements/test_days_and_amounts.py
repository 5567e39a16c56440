"""Days, currencies and amounts that a small file says: each event on its own day, each credit in a currency."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.finance.journal import Tax
from pipelines.finance.released import finance_sql
from pipelines.ledger import User
from pipelines.settlements.importing import effective_banks, effective_statements, undo_import
from pipelines.settlements.lines import SettlementError
from tests.settlements.conftest import Books

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.settlements.statements import World

EVENTS = """platform = "dash"
orders = { platform = ["dashline"] }
[file]
names = "e.csv"
[line]
statement = "stm"
payout = "stm"
order = "no"
date = { column = "day", form = "%Y-%m-%d" }
currency = CURRENCY
[components]
amount = "+amount"
column = "event"
values = { SALE = "items", FEE = "commission", REFUND = "refund" }
[bank]
date = { column = "Date", form = "%Y-%m-%d" }
amount = "+Amount"
text = "Text"
payout = '(PO[0-9])'
"""
HEAD = "stm,no,event,day,amount,cur\n"
FOREIGN = HEAD + "PO1,999,REFUND,2026-11-03,-10.01,EUR\nPO1,999,FEE,2026-11-04,2.00,EUR\n"
BANK = "Date,Amount,Text\n2026-11-05,3.00,dash PO1\n2026-11-06,4.00,dash PO2\n"


@pytest.fixture
def small(tmp_path: Path, made: World) -> Iterator[tuple[Books, duckdb.DuckDBPyConnection]]:
    """Give an empty ledger beside the orders of a world, and a connection."""
    books = Books(tmp_path, made.orders)
    for name, currency in (("stated", '{ column = "cur" }'), ("constant", '"EUR"')):
        (tmp_path / f"{name}.toml").write_text(EVENTS.replace("CURRENCY", currency), encoding="utf-8")
    (tmp_path / "b.csv").write_text(BANK, encoding="utf-8")
    with duckdb.connect(config={"threads": 1}) as con:
        yield books, con


def test_a_commission_in_another_currency_is_of_its_order(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """It is no break, each currency balances, and the order has the costs in its own; its gross must agree."""
    books, con = small
    one, two = [
        each
        for each in books.orders
        if each["platform"] == "dashline" and each["sale_class"] == "counted" and each["total_price"]
    ][:2]
    rows = [
        ("SALE", one, one["total_price"], one["currency"]),
        ("FEE", one, -3, one["currency"]),
        ("FEE", one, -4, "XTS"),
        ("SALE", two, two["total_price"], "XTS"),
    ]
    text = "".join(f"PO2,{each['order_id']},{event},2026-11-01,{amount},{cur}\n" for event, each, amount, cur in rows)
    (books.folder / "e.csv").write_text(HEAD + text, encoding="utf-8")
    books.statement("e.csv", "stated")
    books.build(con)
    states = "select currency, match_state from mart.settlement_matches order by entry_no, match_id"
    assert sorted(con.execute(states).fetchall()) == sorted(
        [(one["currency"], "matched"), ("XTS", "matched"), ("XTS", "not_ours")]
    )
    costs = "select cost_amount, net_amount from mart.order_settlements where order_id = ?"
    assert con.execute(costs, [one["order_id"]]).fetchall() == [(-3, one["total_price"] - 3)]
    debits = f"select currency, sum(amount) from ({finance_sql('journal_settlements')}) group by all"
    assert {amount for _, amount in con.execute(debits).fetchall()} == {0}
    fees = f"select currency, amount from ({finance_sql('journal_settlements')}) where account_class = 'commission'"
    assert sorted(con.execute(fees).fetchall()) == [(one["currency"], 3), ("XTS", 4)]


def test_an_event_keeps_its_day_and_a_refund_its_amount(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """Sale, tip, fee and refund on four days; the receivable moves on the first two. A refund of nobody has -10.01."""
    books, con = small
    order = next(each for each in books.orders if each["platform"] == "dashline" and each["sale_class"] == "counted")
    gross, no, cur = order["total_price"], order["order_id"], order["currency"]
    first = gross - Decimal("1.00")
    own = [("SALE", 1, first), ("TIP", 2, 1), ("FEE", 3, "-4.00"), ("REFUND", 4, "-2.00")]
    rows = [f"PO2,{no},{event},2026-11-0{day},{amount},{cur}\n" for event, day, amount in own]
    (books.folder / "e.csv").write_text(FOREIGN.replace("EUR", cur) + "".join(rows), encoding="utf-8")
    text = (books.folder / "stated.toml").read_text("utf-8").replace("SALE =", 'TIP = "tip", SALE =')
    (books.folder / "stated.toml").write_text(text, encoding="utf-8")
    books.statement("e.csv", "stated")
    books.build(con)
    days = "select line_date from mart.settlement_lines where order_id = ? order by source_row"
    november = [dt.date(2026, 11, day) for day in (1, 2, 3, 4)]
    assert [day for (day,) in con.execute(days, [no]).fetchall()] == november
    debits = (
        f"select day, -amount from ({finance_sql('journal_settlements')}) where account_class = 'receivable' order by 1"
    )
    assert con.execute(debits).fetchall() == [(november[0], first), (november[1], Decimal(1))]
    breaks = "select amount from audit.settlement_breaks where break_kind = 'not_ours'"
    assert con.execute(breaks).fetchall() == [(Decimal("-10.01"),)]
    last = "select first_line_date, last_line_date from mart.settlement_statements where statement_ref = 'PO2'"
    assert con.execute(last).fetchall() == [(november[0], november[3])]


def test_a_credit_has_the_currency_of_the_statements(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """Of its payout, else of the platform, else of the mapping; of several it is refused by row."""
    books, con = small
    with pytest.raises(SettlementError, match=r"b\.csv, row 2, column currency: is not stated"):
        books.bank("b.csv", "stated")
    assert books.bank("b.csv", "constant").row_count == 2
    (books.folder / "e.csv").write_text(FOREIGN, encoding="utf-8")
    books.statement("e.csv", "stated")
    (books.folder / "b.csv").write_text(BANK + "2026-11-06,5.00,another\n", encoding="utf-8")
    assert books.bank("b.csv", "stated", supersede=True).row_count == 2
    books.build(con)
    found = con.execute("select payout_ref, currency from mart.payouts order by all").fetchall()
    assert found == [("PO1", "EUR"), ("PO2", "EUR")]
    (books.folder / "e.csv").write_text(HEAD + "PO3,998,REFUND,2026-11-03,-1.00,USD\n", encoding="utf-8")
    books.statement("e.csv", "stated")
    (books.folder / "b.csv").write_text(BANK + "2026-11-06,6.00,another\n", encoding="utf-8")
    with pytest.raises(SettlementError, match=r"b\.csv, row 3, column currency: is not stated"):
        books.bank("b.csv", "stated", supersede=True)


def test_parts_of_one_rate_are_one_tax() -> None:
    """9.53 of 10.04 less 0.51 is taxed once: 0.87; part by part it would be 0.86."""
    taxes = [
        Tax(of_class=name, rate=Decimal("0.10"), code="V10", store=store)
        for name, store in (("subtotal_price", None), ("discount", 1))
    ]
    first, second = (tax.of_any() for tax in taxes)
    assert first == second
    assert first.on(Decimal("10.04") - Decimal("0.51"), 2) == Decimal("0.87")
    assert sum(tax.on(amount, 2) for tax, amount in zip(taxes, (Decimal("10.04"), Decimal("-0.51")), strict=True)) == (
        Decimal("0.86")
    )


def test_a_corrected_mapping_is_taken_and_an_import_undone(small: tuple[Books, duckdb.DuckDBPyConnection]) -> None:
    """The same file by another mapping needs --supersede and says what changes; undone, the one before is in force."""
    books, _ = small

    def parts() -> dict[int, set[str]]:
        found = effective_statements(books.ledger.entries())
        return {each.entry.no: {*books.ledger.rows(each.entry)["component"].to_pylist()} for each in found}

    text = (books.folder / "constant.toml").read_text("utf-8")
    (books.folder / "bad.toml").write_text(text.replace('"commission"', '"marketing"'), encoding="utf-8")
    (books.folder / "e.csv").write_text(FOREIGN, encoding="utf-8")
    books.statement("e.csv", "bad")
    for name in ("bad", "constant"):
        with pytest.raises(SettlementError, match="imported before, as ledger entry 1; another mapping of it needs"):
            books.statement("e.csv", name)
    with pytest.raises(SettlementError, match="imported before"):
        books.statement("e.csv", "bad", supersede=True)
    (done,) = books.statement("e.csv", "constant", supersede=True)
    assert (done.replaced, done.changes) == (
        1,
        ("commission EUR: none, now 1 of 2.00", "marketing EUR: 1 of 2.00, now none"),
    )
    assert parts() == {2: {"refund", "commission"}}
    undo_import(books.ledger, 2, "by mistake", User(1, "Anne"))
    assert parts() == {1: {"refund", "marketing"}}
    for number in (2, 3, 7):
        with pytest.raises(SettlementError, match="is not an import, or was undone"):
            undo_import(books.ledger, number, "again", User(1, "Anne"))
    undo_import(books.ledger, 1, "that too", User(1, "Anne"))
    assert parts() == {}
    books.statement("e.csv", "constant")
    books.bank("b.csv", "constant")
    (books.folder / "other.toml").write_text(text.replace("PO[0-9]", "PO[1]"), encoding="utf-8")
    with pytest.raises(SettlementError, match="imported before"):
        books.bank("b.csv", "other")
    corrected = books.bank("b.csv", "other", supersede=True)
    assert corrected.changes == ("EUR: 2 of 7.00, now 1 of 3.00",)
    assert [each.no for each in effective_banks(books.ledger.entries())] == [corrected.entry_no]


def test_an_import_undone_between_two_others_brings_the_first_not_back(
    small: tuple[Books, duckdb.DuckDBPyConnection],
) -> None:
    """Three files of the same days, each in place of the one before: without the second the third still is."""
    books, _ = small
    first = (books.folder / "b.csv").read_text("utf-8")
    for number in range(3):
        (books.folder / "b.csv").write_text(first + f"2026-11-06,{number}.00,another\n", encoding="utf-8")
        books.bank("b.csv", "constant", supersede=number > 0)
        (books.folder / "e.csv").write_text(FOREIGN.replace("2.00", f"2.0{number}"), encoding="utf-8")
        text = (books.folder / "constant.toml").read_text("utf-8")
        (books.folder / "no_ref.toml").write_text(text.replace('statement = "stm"\n', ""), encoding="utf-8")
        books.statement("e.csv", "no_ref", supersede=number > 0)

    def in_force() -> tuple[list[int], list[int]]:
        entries = [*books.ledger.entries()]
        return [each.no for each in effective_banks(entries)], [each.entry.no for each in effective_statements(entries)]

    assert in_force() == ([5], [6])
    undo_import(books.ledger, 3, "by mistake", User(1, "Anne"))
    undo_import(books.ledger, 4, "by mistake", User(1, "Anne"))
    assert in_force() == ([5], [6])
    undo_import(books.ledger, 5, "by mistake", User(1, "Anne"))
    undo_import(books.ledger, 6, "by mistake", User(1, "Anne"))
    assert in_force() == ([1], [2])
