"""Identities hold on four platforms of statements, to the cent; each check finds the fault that is planted."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from tests.settlements.statements import World

FAULTS = {
    "mart.settlement_lines__tie_to_files": [
        "delete from mart.settlement_lines where source_row = 7",
        "update mart.settlement_lines set amount = amount + 0.01 where entry_no = 2 and source_row = 4",
    ],
    "mart.settlement_statements__add_up": ["update mart.settlement_statements set cost_amount = cost_amount - 0.01"],
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
        "update mart.settlement_matches set their_amount = their_amount + 0.01 where match_state = 'group'",
    ],
    "mart.payouts__tie_to_lines_and_bank": [
        "update mart.payouts set stated_amount = stated_amount + 0.01 where payout_state = 'not_at_bank'",
        "update mart.payouts set bank_amount = bank_amount - 0.01 where payout_state = 'paid'",
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
