"""Random histories of imports, corrections, closes and exports: after each export, all files are the open items.

The right figures are kept apart: of statements and the bank by plain Python, of sales by mart.closed_days. A long run:
`ORDERMART_TEST_HISTORIES=100 ORDERMART_TEST_STEPS=40 python -m pytest -m "" tests/closing/test_drawn_exports.py`.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
import random
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.exporting import export
from pipelines.finance.released import FinanceError, period_of
from pipelines.settlements.importing import import_bank, import_statements, undo_import
from pipelines.settlements.lines import SettlementError
from pipelines.settlements.mapping import read_mapping
from tests.closing.test_journal_of_statements import ANNE, CLASSES, HEADER, row
from tests.closing.test_weekly_exports import DAYS
from tests.settlements.statements import MAPPINGS

if TYPE_CHECKING:
    from pathlib import Path

HISTORIES = int(os.environ.get("ORDERMART_TEST_HISTORIES", "1"))
STEPS = int(os.environ.get("ORDERMART_TEST_STEPS", "8"))
IN_SCOPE = ("web", "old web")
CURRENCIES = {1: "EUR", 2: "USD"}  # by store
COSTS = ("commission", "marketing")  # what one mapping and the other call the column
ACTS = ["state"] * 4 + ["pay"] * 2 + ["close"] * 3 + ["change"] * 2
ACTS += ["correct", "undo", "reopen", "post", "export", "export"]
Row = tuple[int, str, str]  # order, gross, commission
Sums = dict[tuple[str, str, str], Decimal]  # class, platform, currency


@dataclass
class Import:
    """A file that was imported: what it says by week, its costs, and the entries of the same file that it undid."""

    no: int
    text: str
    weeks: dict[int, Any]
    cost: str
    undid: set[int]


class History:
    """Books of two orders a week, in stores of two currencies, with their statements and the bank as they are."""

    def __init__(self, books: Any, folder: Path, seed: int, order: dict[str, Any], later: int) -> None:
        self.books, self.folder, self.chance = books, folder, random.Random(seed)
        self.balanced, self.later = order, later
        self.orders: dict[int, dict[str, Any]] = {}
        self.imports: dict[str, list[Import]] = {"stated": [], "paid": []}
        self.gone: set[int] = set()  # undone
        self.done: set[str] = set()
        self.reads = {name: read_mapping(folder / f"{name}.toml") for name in COSTS}
        books.world.land(
            "stores",
            [{"id": no, "at": -80_000, "document": books.store(no, currency=of)} for no, of in CURRENCIES.items()],
        )
        for number in range(2 * len(DAYS)):
            self.land(number + 1, platform="web", status="done")
        self.books.publish()

    def land(self, order_id: int, **fields: Any) -> None:
        """Land an order as it is now."""
        self.orders[order_id] = self.orders.get(order_id, {}) | fields
        at = {"created_at": f"{DAYS[(order_id - 1) % len(DAYS)]}T10:00:00Z", "store_id": store_of(order_id)}
        self.later += 1
        self.books.land(order_id, self.later, **self.balanced | at | self.orders[order_id])

    def step(self) -> bool:
        """Do something; return whether it was an export."""
        act = self.chance.choice(ACTS)
        with contextlib.suppress(SettlementError, FinanceError):  # the same file, a day that is closed
            getattr(self, act)()
            self.done.add(act)
        return act == "export"

    def state(self) -> None:
        """Give the month to date, a part of it, or a correction in its middle, as it is drawn."""
        weeks = sorted(self.chance.sample(range(len(DAYS)), self.chance.randrange(1, len(DAYS) + 1)))
        rows = {week: self.rows(week) for week in weeks}
        month_first = [f"{day[5:7]}/{day[8:]}/{day[:4]}" for day in DAYS]
        text = "".join(
            row(order, month_first[week], gross, payout=week + 1, commission=commission)
            .replace(",1,", f",{store_of(order)},", 1)
            .replace("EUR", CURRENCIES[store_of(order)])
            for week, of_week in rows.items()
            for order, gross, commission in of_week
        )
        self.take("stated", HEADER + text, rows, self.chance.choice(COSTS))

    def take(self, kind: str, text: str, weeks: dict[int, Any], cost: str) -> None:
        """Import a file, for what it has instead of what there is."""
        file = self.folder / {"stated": "transactions_1.csv", "paid": "bank.csv"}[kind]
        file.write_text(text, encoding="utf-8")
        undid = {each.no for each in self.active(kind) if each.text == text}
        if kind == "paid":
            no = import_bank(self.books.ledger, file, self.reads[cost], supersede=True).entry_no
        else:
            ((_, no, *_),) = import_statements(self.books.ledger, file, self.reads[cost], supersede=True)
        self.imports[kind].append(Import(no or 0, text, weeks, cost, undid))

    def active(self, kind: str) -> list[Import]:
        """Return the imports that are in force: neither undone nor corrected by one that is."""
        found: list[Import] = []
        for each in reversed(self.imports[kind]):
            if each.no not in self.gone and not any(each.no in later.undid for later in found):
                found.insert(0, each)
        return found

    def correct(self) -> None:
        """Give a file again, by the other mapping."""
        kind = self.chance.choice(["stated", "paid"])
        if known := self.active(kind):
            each = self.chance.choice(known)
            self.take(kind, each.text, each.weeks, *({*COSTS} - {each.cost}))

    def rows(self, week: int) -> list[Row]:
        """Draw the rows of a statement: of orders twice, in two parts or not at all, of nobody, and a cent off."""
        orders = [week + 1, week + 1 + len(DAYS), *self.chance.choices([week + 1, 99], k=self.chance.randrange(3))]
        orders = self.chance.sample(orders, self.chance.randrange(1, len(orders) + 1))
        gross = ["8.25", "8.25", "8.24", "7.00", "1.25"]
        return [(order, self.chance.choice(gross), self.chance.choice(["1.25", "1.30"])) for order in orders]

    def pay(self) -> None:
        """Give the bank's month to date."""
        weeks = range(self.chance.randrange(1, len(DAYS) + 1))
        paid = {
            week: (self.chance.choice([*CURRENCIES.values()]), Decimal(self.chance.choice(["7.00", "14.00", "3.50"])))
            for week in weeks
        }
        text = "".join(
            f"{DAYS[week]},{amount},{currency},PO-{week + 1:06d}\n" for week, (currency, amount) in paid.items()
        )
        self.take("paid", "Booking date,Amount,Currency,Remittance\n" + text, paid, self.chance.choice(COSTS))

    def undo(self) -> None:
        """Take an import back, whichever is in force; what it superseded or corrected is in force again."""
        if known := [*self.active("stated"), *self.active("paid")]:
            each = self.chance.choice(known)
            undo_import(self.books.ledger, each.no, "a test", ANNE)
            self.gone.add(each.no)

    def close(self) -> None:
        """Close a week's day."""
        self.books.publish()
        self.books.close(self.chance.choice(DAYS))

    def reopen(self) -> None:
        """Reopen a week's day."""
        self.books.reopen(self.chance.choice(DAYS))

    def change(self) -> None:
        """Change an order: its platform, its class, its amounts."""
        more = {
            "items": [self.balanced["items"][0] | {"price": "9.25"}],
            "subtotal_price": "9.25",
            "total_price": "10.25",
        }
        less = {name: self.balanced[name] for name in more}
        other: list[dict[str, Any]] = [
            {"platform": "phone"},
            {"platform": "web"},
            {"platform": "old web"},
            {"status": "refused"},
            more,
            less,
        ]
        self.land(self.chance.randrange(1, 2 * len(DAYS) + 1), **self.chance.choice(other))

    def post(self) -> None:
        """Post what was restated."""
        self.books.publish()
        self.books.post("2026-12")

    def export(self) -> None:
        """Export the news of both months."""
        self.books.publish()
        for name in ("2026-11", "2026-12"):
            period, accounts, out = (
                period_of(self.books.settings, name),
                self.folder / "accounts.toml",
                self.folder / "out",
            )
            done = export(self.books.settings, period, accounts, "csv", out, draft=False, left_out=(), user=ANNE)
            assert not done.is_stopped, done.journal.stops

    def right(self) -> Sums:
        """Return balances by class, platform and currency: closed and posted sales, less what statements settle."""
        found: Sums = defaultdict(Decimal)
        signs = {"total_price": 1, "subtotal_price": -1, "delivery_price": -1, "discount": 1}
        for measure, platform, currency, amount in self.books.all(
            "select measure, platform, currency, sum(closed_amount + posted_amount) from mart.closed_days "
            "where sale_class = 'counted' group by all"
        ):
            if measure in signs:
                of_class = "receivable" if measure == "total_price" else measure
                found[of_class, platform, currency] += signs[measure] * amount
        effective = {week: (rows, each.cost) for each in self.active("stated") for week, rows in each.weeks.items()}
        for rows, cost in effective.values():
            claimed = claims(rows, {order: Decimal(of.get("total_price", "8.25")) for order, of in self.orders.items()})
            for place, (order_id, gross, commission) in enumerate(rows):
                currency, net = CURRENCIES[store_of(order_id)], Decimal(gross) - Decimal(commission)
                order = self.orders.get(order_id, {})
                found["clearing", "dashline", currency] += net
                if order.get("platform") in IN_SCOPE and order["status"] == "done" and place in claimed:
                    found["receivable", order["platform"], currency] -= Decimal(gross)
                    found[cost, "dashline", currency] += Decimal(commission)
                else:
                    found["unmatched", "dashline", currency] -= net
        for each in self.active("paid")[-1:]:
            for currency, amount in each.weeks.values():
                found["bank", "dashline", currency] += amount
                found["clearing", "dashline", currency] -= amount
        return {key: amount for key, amount in found.items() if amount}


def store_of(order_id: int) -> int:
    """Return the store of an order: the later three are of the second one."""
    return 1 + (len(DAYS) < order_id <= 2 * len(DAYS))


def claims(rows: list[Row], totals: dict[int, Decimal]) -> set[int]:
    """Return the places of rows that settle their order: its first, or the first few that come to its total."""
    found: set[int] = set()
    for order_id, total in totals.items():
        own = [place for place, (order, *_) in enumerate(rows) if order == order_id]
        sums = list(itertools.accumulate(Decimal(rows[place][1]) for place in own))
        found |= {*own[: sums.index(total) + 1 if total in sums else 1]}
    return found


def by_currency(folder: Path) -> Sums:
    """Return the balance of each class, platform and currency over all files that were written."""
    found: Sums = defaultdict(Decimal)
    for file in (folder / "out").glob("*.csv"):
        for line in csv.DictReader(file.read_text("utf-8").splitlines()):
            amount = Decimal(line["debit"] or 0) - Decimal(line["credit"] or 0)
            found[line["class"], line["platform"], line["currency"]] += amount
    return {key: amount for key, amount in found.items() if amount}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_all_files_are_the_open_items(
    seed: int, tmp_path: Path, books_of: Any, rules: dict[str, str], balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """By account, platform and currency, after each export of a history of weeks."""
    books = books_of(tmp_path / "books")
    books.set(formula=rules, finance={"currency": "EUR"})
    lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
    (tmp_path / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")
    mapping = (MAPPINGS / "dashline.toml").read_text("utf-8").replace('= ["dashline"]', '= ["web", "old web"]')
    mapping = mapping.replace('text = "Remittance"', 'currency = { column = "Currency" }\ntext = "Remittance"')
    (tmp_path / "commission.toml").write_text(mapping, encoding="utf-8")
    swapped = mapping.replace('commission = "-commission"', 'marketing = "-commission"', 1)
    swapped = swapped.replace('marketing = "-marketing_fee"', 'commission = "-marketing_fee"')
    (tmp_path / "marketing.toml").write_text(swapped, encoding="utf-8")
    history = History(books, tmp_path, seed, balanced, hours[1])
    for number in range(STEPS):
        if history.step():
            assert by_currency(tmp_path) == history.right(), (seed, number)
    history.export()
    assert by_currency(tmp_path) == history.right(), seed
