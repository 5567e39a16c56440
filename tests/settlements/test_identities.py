"""Identities hold on four platforms of statements, to the cent; each check finds the fault that is planted."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.warehouse import catalogue
from tests.settlements.statements import CARRIED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from tests.settlements.statements import World

FAULTS = {
    "mart.settlement_lines__tie_to_files": [
        "delete from mart.settlement_lines where source_row = 7",
        "update mart.settlement_lines set amount = amount + 0.01 where entry_no = 2 and source_row = 4",
    ],
    "mart.settlement_statements__add_up": [
        "update mart.settlement_statements set cost_amount = cost_amount - 0.01",
        "update mart.settlement_statements set rounding_amount = 0 where rounding_amount <> 0",
        "update mart.settlement_statements set closing_amount = closing_amount + 0.01",
        "update mart.settlement_statements set rounding_amount = null",
    ],
    "mart.settlement_statements__go_on": [
        "update mart.settlement_statements set gap_amount = 0 where gap_amount <> 0",
        "update mart.settlement_statements set opening_amount = opening_amount + 1 where statement_ref = 'PO-000002'",
        "update mart.settlement_statements set closing_amount = closing_amount + 1 where statement_ref = 'PO-000001'",
        "delete from audit.settlement_breaks where break_kind = 'statement_gap'",
        "delete from audit.settlement_breaks where break_kind = 'statement_rounding'",
    ],
    "mart.settlement_matches__have_every_line": [
        "delete from mart.settlement_matches where match_state = 'no_order'",
        "insert into mart.settlement_matches from mart.settlement_matches limit 1",
    ],
    "mart.order_settlements__add_up": [
        "update mart.order_settlements set open_amount = 0 where settlement_state = 'differs'",
        "update mart.order_settlements set net_amount = net_amount + 0.01 where refund_amount <> 0",
    ],
    "mart.order_settlements__equal_the_receivable": [
        "update mart.order_settlements set open_amount = open_amount - 0.01 where settlement_state = 'open'",
        "delete from mart.order_settlements where settlement_state = 'differs'",
        "update mart.settlement_matches set matched_amount = matched_amount + 0.01 where match_state = 'group'",
    ],
    "mart.payouts__equal_the_clearing": [
        "update mart.payouts set stated_amount = stated_amount + 0.01 where payout_state = 'not_at_bank'",
        "update mart.payouts set bank_amount = bank_amount - 0.01 where payout_state = 'paid'",
        "delete from mart.payouts where payout_state = 'differs'",
        "update mart.settlement_statements set closing_amount = closing_amount + 0.01",
        "update mart.settlement_statements set rounding_amount = 0 where rounding_amount <> 0",
        "delete from raw.bank_payouts where payout_ref = 'PO-000001'",
    ],
    "mart.settlement_matches__equal_the_unmatched": [
        "delete from mart.settlement_matches where match_state = 'not_ours'",
        "update mart.settlement_matches set net_amount = net_amount + 0.01 where match_state = 'settled_twice'",
        "update mart.settlement_matches set matched_amount = their_amount where match_state = 'one_of'",
        "update mart.settlement_matches set matched_amount = their_amount where match_state = 'settled_twice'",
        "update mart.settlement_matches set matched_amount = null where match_id like 'period:%'",
        "update mart.settlement_matches set match_state = 'not_ours' where match_state = 'no_order'",
    ],
    "mart.payouts__tie_to_lines_and_bank": [
        "update mart.payouts set stated_amount = stated_amount + 0.01 where payout_state = 'not_at_bank'",
        "update mart.payouts set bank_amount = bank_amount - 0.01 where payout_state = 'paid'",
        "update mart.payouts set bank_fee_amount = bank_fee_amount + 0.01 where payout_state = 'paid'",
        "update mart.payouts set carried_amount = 0, stated_amount = stated_amount - carried_amount",
        "update mart.payouts set difference = 0 where payout_state = 'differs'",
        "delete from mart.payouts where payout_state = 'not_at_bank'",
    ],
}


@pytest.fixture
def undone(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the tables; what a test changes is undone."""
    con.begin()
    yield con
    con.rollback()


def test_identities_hold(con: duckdb.DuckDBPyConnection) -> None:
    """No check finds anything, and all of them block."""
    for name in FAULTS:
        check = catalogue.check(name)
        assert (check.severity, con.execute(check.sql).fetchall()) == ("blocking", []), name


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, faults in FAULTS.items() for fault in faults])
def test_planted_fault_is_found(undone: duckdb.DuckDBPyConnection, name: str, fault: str) -> None:
    """A cent, a row too few or too many breaks the identity."""
    undone.execute(fault)
    assert undone.execute(catalogue.check(name).sql).fetchall() != []


def test_receivable_is_the_list_of_open_items(con: duckdb.DuckDBPyConnection, made: World) -> None:
    """By the truth alone: orders that no statement has, and the cent that one is short; nothing is absorbed."""
    found = con.execute(
        "select order_id, open_amount from mart.order_settlements where open_amount <> 0 order by order_id"
    ).fetchall()
    totals = {each["order_id"]: each["total_price"] for each in made.orders}
    truth = {order: totals[order] for order in made.never_settled} | dict.fromkeys(made.cent_wrong, Decimal("0.01"))
    assert dict(found) == truth
    assert con.execute("select platform, payout_ref, payout_state from mart.payouts order by all").fetchall() == [
        (*key, state) for key, state in sorted(made.payouts.items())
    ]


def test_statements_go_on_where_the_truth_does(con: duckdb.DuckDBPyConnection, made: World) -> None:
    """Three statements start from the balance of the one before; the gap and the cent of the last are breaks."""
    found = con.execute(
        "select opening_amount, closing_amount, gap_amount, rounding_amount from mart.settlement_statements "
        "where platform = 'dashline' order by statement_ref"
    ).fetchall()
    assert [opening for opening, *_ in found] == [*CARRIED[:3], CARRIED[3] + made.gap]
    assert [closing for _, closing, *_ in found] == CARRIED[1:]
    assert [gap for _, _, gap, _ in found] == [None, 0, 0, made.gap]
    breaks = con.execute(
        "select break_kind, amount from audit.settlement_breaks where break_key like 'statement:%' order by all"
    ).fetchall()
    assert breaks == [("statement_gap", made.gap), ("statement_rounding", Decimal("-0.01"))]


def test_parts_are_the_amount_is_the_bank_and_its_fee(con: duckdb.DuckDBPyConnection) -> None:
    """A payout is its lines and what its statement carries; the bank kept a fee, and it is paid all the same."""
    (row,) = con.execute(
        "select (select sum(amount) from mart.settlement_lines where payout_ref = 'PO-000002'), carried_amount, "
        "stated_amount, bank_amount, bank_fee_amount, payout_state from mart.payouts where payout_ref = 'PO-000002'"
    ).fetchall()
    lines, carried, stated, bank, fee, state = row
    assert (carried, fee, state) == (CARRIED[1] - CARRIED[2], Decimal("0.35"), "paid")
    assert lines + carried == stated == bank + fee
