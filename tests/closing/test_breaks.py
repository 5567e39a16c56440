"""Breaks have a life: open, assigned, commented on, accepted, and open again once their amounts change."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.finance.reconciliation import (
    Reconciliation,
    accept_breaks,
    assign_breaks,
    comment_on_breaks,
    list_breaks,
    reconciliation,
)
from pipelines.finance.released import FinanceError, Selection, one_day, open_release
from pipelines.ledger import User, verify
from pipelines.report.explain import explain_order
from pipelines.report.finance_views import break_lines, reconciliation_lines, verdict
from pipelines.report.workbook import amount_look
from pipelines.settlements.importing import import_statements
from pipelines.settlements.mapping import read_mapping
from tests.forked import ordermart
from tests.long_ledger import entries_read, lengthen

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

AT, DAY = "2026-10-31T10:00:00Z", "2026-10-31"
CHECKED = 24
LATER = dt.datetime(2026, 11, 3, tzinfo=dt.UTC)
ANNE = User(1001, "Anne")
# Order → store, and how far its total is off: EUR, JPY and KWD.
OFF = {1: (1, "0.02"), 2: (1, "3"), 3: (1, "0"), 4: (2, "40080"), 5: (3, "1.21")}


def land(books: Any, order_id: int, at: int, balanced: dict[str, Any], off: str) -> None:
    """Land an order whose total is off by an amount."""
    total = str(Decimal(balanced["total_price"]) + Decimal(off))
    books.land(order_id, at, created_at=AT, store_id=OFF[order_id][0], **(balanced | {"total_price": total}))


@pytest.fixture(scope="module")
def books(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Publish a day with four breaks in three currencies."""
    made = books_of(tmp_path_factory.mktemp("breaks") / "books")
    made.set(formula=rules)
    currencies = {1: "EUR", 2: "JPY", 3: "KWD"}
    stores = [{"id": each, "document": made.store(each, currency=code)} for each, code in currencies.items()]
    made.world.land("stores", [store | {"at": CHECKED} for store in stores])
    for order_id, (_, off) in OFF.items():
        land(made, order_id, CHECKED, balanced, off)
    made.publish()
    return made


@pytest.fixture
def undecided(books: Any) -> Any:
    """Give the day without any decision."""
    books.empty_ledger()
    return books


@pytest.mark.slow
def test_comment_reads_few_entries_of_a_long_ledger(undecided: Any) -> None:
    """As many at 10,000 entries as at 100."""
    read = []
    for length in (100, 10_000):
        lengthen(undecided.settings, length)
        read.append(entries_read(lambda: comment_on_breaks(undecided.settings, [1], "seen", ANNE)))
    assert read[0] == read[1] <= 10


def states(books: Any) -> dict[int, str]:
    """Return order → state of its break."""
    return {row["order_id"]: row["state"] for row in list_breaks(books.settings, Selection())}


def reconciled(books: Any, say: Any) -> Any:
    """Return what `say` returns of the reconciliation of all days."""
    with open_release(books.settings) as release:
        return say(reconciliation(release, Selection()))


def released_states(books: Any) -> dict[int, str]:
    """Return order → state, as audit.breaks of the current release has it."""
    return dict(books.all("select distinct order_id, state from audit.breaks"))


def blockers(books: Any) -> list[str]:
    """Return the blockers that are about breaks."""
    found = closing.check(books.settings, one_day(DAY), None, LATER).against
    return [each for each in found if each.startswith("breaks")]


@pytest.mark.slow
def test_breaks_are_listed_by_currency_with_its_digits(undecided: Any) -> None:
    """The largest of each currency comes first; nothing ranks across currencies."""
    rows = list_breaks(undecided.settings, Selection())
    assert [row["order_id"] for row in rows] == [2, 1, 4, 5]
    lines = list(break_lines(rows))
    assert [line.split()[3:5] for line in lines[1:5]] == [
        ["+3.00", "EUR"],
        ["+0.02", "EUR"],
        ["+40,080", "JPY"],
        ["+1.210", "KWD"],
    ]
    assert lines[-1] == "4 open breaks, 0 accepted."
    shown = reconciled(undecided, lambda found: " ".join(reconciliation_lines(found)))
    assert "Largest breaks, EUR: 2, 1; JPY: 4; KWD: 5." in shown
    assert "total 40,088.25" in shown
    assert "residuals: total 1.210" in shown
    receipt = "\n".join(explain_order(undecided.settings, 5))
    assert "= 7.250 + 2.000 + 0.000 \N{MINUS SIGN} 1.000 \N{MINUS SIGN} 0.000 = 8.250" in receipt
    assert "stated 9.460, residual 1.210" in receipt
    assert amount_look(Decimal(40080), "JPY") == amount_look(Decimal(2), "KWD", "order_count") == "amount 0"
    assert (amount_look(Decimal("0.5"), "JPY"), amount_look(Decimal(1), "KWD")) == ("amount 1", "amount 3")


@pytest.mark.slow
def test_breaks_of_closed_stores_do_not_block_their_day(undecided: Any) -> None:
    """Once a store's day is closed, its breaks are no blockers of the other stores'."""
    assert len(blockers(undecided)) == 3
    for store_id in (1, 2):
        undecided.close(DAY, store_id)
    assert blockers(undecided) == [
        "breaks above the tolerance: 1 (5), absolute residuals 1.210 KWD; see `ordermart breaks list`"
    ]


@pytest.mark.slow
def test_a_break_above_the_tolerance_of_its_currency_blocks_a_close(undecided: Any) -> None:
    """Each currency has a sentence of its own; a tolerance is about each order, and 0 where none is set."""
    assert [each.partition("; see")[0] for each in blockers(undecided)] == [
        "breaks above the tolerance: 2 (1, 2), absolute residuals 3.02 EUR",
        "breaks above the tolerance: 1 (4), absolute residuals 40,080 JPY",
        "breaks above the tolerance: 1 (5), absolute residuals 1.210 KWD",
    ]
    undecided.set(**{"closing.tolerance": {"EUR": "0.02", "JPY": "40080", "KWD": "1.2"}})
    try:
        assert [each.partition("; see")[0] for each in blockers(undecided)] == [
            "breaks above the tolerance: 1 (2), absolute residuals 3.00 EUR",
            "breaks above the tolerance: 1 (5), absolute residuals 1.210 KWD",
        ]
        accept_breaks(undecided.settings, [2, 5], "agreed with the store", ANNE)
        assert blockers(undecided) == []
    finally:
        undecided.set(**{"closing.tolerance": {}})


@pytest.mark.slow
def test_what_is_decided_is_in_the_ledger(undecided: Any) -> None:
    """Reason, amounts and both names are recorded; an order without an open break is refused, with nothing written."""
    books = undecided
    accepted = accept_breaks(books.settings, [1, 4], "a coupon", ANNE)
    assert accepted.body["reason"] == "a coupon"
    assert (accepted.body["uid"], accepted.body["as"]) == (1001, "Anne")
    assert accepted.who
    assert [(row["order_id"], row["total_residual"], row["currency"]) for row in accepted.body["breaks"]] == [
        (1, "0.0200", "EUR"),
        (4, "40080.0000", "JPY"),
    ]
    assign_breaks(books.settings, [2], "Ben", ANNE)
    comment_on_breaks(books.settings, [2], "asked the store", ANNE)
    for ids in ([2, 3], [1], [99]):
        with pytest.raises(FinanceError, match="has no break that is open"):
            accept_breaks(books.settings, ids, "again", ANNE)
    with pytest.raises(FinanceError, match="order 3 has no break: see"):
        comment_on_breaks(books.settings, [3], "why", ANNE)
    assert verify(books.ledger).entries == 3
    text = "\n".join(break_lines(list_breaks(books.settings, Selection()), everything=True))
    assert "accepted by Anne (" in text
    assert "assigned to Ben" in text
    assert ": asked the store" in text
    assert "2 open breaks, 2 accepted." in text
    # as an older version reads entries: no field but those it knows
    known = {"no", "at", "who", "act", "body", "file", "file_sha256", "previous", "sha256"}
    lines = (books.ledger.folder / "ledger.jsonl").read_text().splitlines()
    assert all(json.loads(line).keys() == known for line in lines)


@pytest.mark.slow
def test_an_accepted_break_fails_again_once_its_amounts_change(undecided: Any, balanced: dict[str, Any]) -> None:
    """All accepted is balanced; another total opens the break again, the same document does not."""
    books = undecided
    assert reconciled(books, verdict) == "Not balanced: 4 breaks"
    accept_breaks(books.settings, [1, 2, 4, 5], "agreed", ANNE)
    assert reconciled(books, verdict) == "Balanced: no variances; 4 accepted breaks"
    assert reconciled(books, Reconciliation.assess).is_good
    land(books, 1, CHECKED + 1, balanced, "0.02")
    land(books, 2, CHECKED + 1, balanced, "4")
    books.publish()
    assert states(books) == {1: "accepted", 2: "changed", 4: "accepted", 5: "accepted"}
    assert released_states(books) == states(books), "by an increment"
    assert reconciled(books, verdict) == "Not balanced: 1 break; 3 accepted breaks"
    assert [each.partition(",")[0] for each in blockers(books)] == ["breaks above the tolerance: 1 (2)"]
    accept_breaks(books.settings, [2], "agreed again", ANNE)
    assert reconciled(books, Reconciliation.assess).is_good
    books.publish()
    assert released_states(books) == dict.fromkeys(states(books), "accepted"), "a decision alone is published"
    decided = "select order_id, residual, currency_digits, reason, accepted_as, accepted_by <> '' from audit.breaks"
    assert books.all(f"{decided} where order_id in (2, 4) order by order_id") == [
        (2, 4, 2, "agreed again", "Anne", True),
        (4, 40080, 0, "agreed", "Anne", True),
    ]
    land(books, 2, CHECKED + 2, balanced, "3")
    books.publish()


@pytest.mark.slow
def test_the_commands(undecided: Any) -> None:
    """A break is accepted by its id; reconcile exits 3 before and 0 after; wrong usage exits 2."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1"}
        return ordermart((*arguments, "--config", str(undecided.settings.file)), environ, timeout=120)

    assert run("reconcile", "--store", "2").returncode == 3
    done = run("breaks", "accept", "4", "--reason", "agreed", "--as", "Anne")
    assert done.stdout == "Accepted 1 break as ledger entry 1.\n  total residuals +40,080 JPY\n"
    assert run("breaks", "accept", "4", "--reason", "agreed").returncode == 1
    assert run("breaks", "accept", "4", "--reason", " ").returncode == 2
    assert run("reconcile", "--store", "2").returncode == 0
    assert run("breaks", "assign", "1", "--to", "Ben").returncode == 0
    assert run("breaks", "comment", "1", "--text", "asked").returncode == 0
    assert "assigned to Ben" in run("breaks", "list", "--store", "1").stdout


STATEMENT = """
platform = "dash"
orders = { platform = ["web"] }
[line]
statement = "Ref"
order = "Order"
date = { column = "Day", form = "%Y-%m-%d" }
type = "order"
currency = "EUR"
[components]
gross = "+Amount"
"""


@pytest.mark.slow
def test_price_and_settlement_of_an_order_are_accepted_apart(undecided: Any, tmp_path: Path) -> None:
    """Accepting one leaves the other as it was, whichever comes first; each has its key and its assignee."""
    books, file, mapping = undecided, tmp_path / "a.csv", tmp_path / "m.toml"
    mapping.write_text(STATEMENT, encoding="utf-8")
    file.write_text("Ref,Order,Day,Amount\nR1,1,2026-11-01,5\nR1,99,2026-11-01,5\n", encoding="utf-8")
    import_statements(books.ledger, file, read_mapping(mapping))
    books.publish()

    def settlements() -> dict[str, str]:
        return dict(books.all("select break_key, state from audit.settlement_breaks order by all"))

    assert (settlements(), states(books)[1]) == ({"line:1/3": "open", "settlement:dash/1": "open"}, "open")
    accepted = accept_breaks(books.settings, ["settlement:dash/1"], "agreed", ANNE, "loss")
    assert (accepted.body["breaks"][0]["key"], accepted.body["breaks"][0]["account_class"]) == (
        "settlement:dash/1",
        "loss",
    )
    assign_breaks(books.settings, ["settlement:dash/1"], "Ben", ANNE)
    books.publish()
    assert (settlements(), states(books)[1]) == ({"line:1/3": "open", "settlement:dash/1": "accepted"}, "open")
    accept_breaks(books.settings, [1, "line:1/3"], "agreed", ANNE)
    books.publish()
    assert (settlements(), states(books)[1]) == (dict.fromkeys(settlements(), "accepted"), "accepted")
    assert books.all("select assignee from audit.settlement_breaks order by break_key") == [(None,), ("Ben",)]
    with pytest.raises(FinanceError, match="settlement:dash/1 has no break that is open"):
        accept_breaks(books.settings, ["settlement:dash/1"], "again", ANNE)
