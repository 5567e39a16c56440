"""Random histories of imports, corrections, closes and exports: after each export, all files are the open items.

The right figures are kept apart: of statements and the bank by plain Python, of sales by mart.closed_days. A long run:
`ORDERMART_TEST_HISTORIES=100 ORDERMART_TEST_STEPS=40 python -m pytest -m "" tests/closing/test_drawn_exports.py`.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.exporting import export
from pipelines.finance.released import FinanceError, period_of
from pipelines.settlements.importing import import_bank, import_statements, undo_import
from pipelines.settlements.lines import SettlementError
from pipelines.settlements.mapping import read_mapping
from tests.closing.test_journal_of_statements import ANNE, CLASSES, HEADER, row
from tests.closing.test_weekly_exports import BANK, DAYS, sums
from tests.settlements.statements import MAPPINGS

if TYPE_CHECKING:
    from pathlib import Path

HISTORIES = int(os.environ.get("ORDERMART_TEST_HISTORIES", "1"))
STEPS = int(os.environ.get("ORDERMART_TEST_STEPS", "12"))
IN_SCOPE = ("web", "old web")
ACTS = ["state"] * 4 + ["pay"] * 2 + ["close"] * 3 + ["change"] * 2 + ["undo", "reopen", "post", "export", "export"]
Row = tuple[int, str, str]  # order, gross, commission


class History:
    """Books of two orders a week, with their statements and the bank as they are now."""

    def __init__(self, books: Any, folder: Path, seed: int, order: dict[str, Any], later: int) -> None:
        self.books, self.folder, self.chance = books, folder, random.Random(seed)
        self.balanced, self.later = order, later
        self.orders: dict[int, dict[str, Any]] = {}
        self.stated: list[tuple[int, dict[int, list[Row]]]] = []  # imports: entry, statement → rows
        self.paid: list[tuple[int, dict[int, Decimal]]] = []
        self.read = read_mapping(folder / "dashline.toml")
        for number in range(2 * len(DAYS)):
            self.land(number + 1, platform="web", status="done")
        self.books.publish()

    def land(self, order_id: int, **fields: Any) -> None:
        """Land an order as it is now."""
        self.orders[order_id] = self.orders.get(order_id, {}) | fields
        at = {"created_at": f"{DAYS[(order_id - 1) % len(DAYS)]}T10:00:00Z", "store_id": 1}
        self.later += 1
        self.books.land(order_id, self.later, **self.balanced | at | self.orders[order_id])

    def step(self) -> bool:
        """Do something; return whether it was an export."""
        act = self.chance.choice(ACTS)
        with contextlib.suppress(SettlementError, FinanceError):  # the same file, a day that is closed
            getattr(self, act)()
        return act == "export"

    def state(self) -> None:
        """Give the month to date, a part of it, or a correction in its middle, as it is drawn."""
        weeks = sorted(self.chance.sample(range(len(DAYS)), self.chance.randrange(1, len(DAYS) + 1)))
        rows = {week: self.rows(week) for week in weeks}
        month_first = [f"{day[5:7]}/{day[8:]}/{day[:4]}" for day in DAYS]
        text = "".join(
            row(order, month_first[week], gross, payout=week + 1, commission=commission)
            for week, of_week in rows.items()
            for order, gross, commission in of_week
        )
        (self.folder / "transactions_1.csv").write_text(HEADER + text, encoding="utf-8")
        file = self.folder / "transactions_1.csv"
        ((_, entry_no, *_),) = import_statements(self.books.ledger, file, self.read, supersede=True)
        self.stated.append((entry_no, rows))

    def rows(self, week: int) -> list[Row]:
        """Draw the rows of a statement: of orders twice or not at all, of nobody, and a cent off."""
        orders = [week + 1, week + 1 + len(DAYS), *self.chance.choices([week + 1, 99], k=self.chance.randrange(2))]
        orders = self.chance.sample(orders, self.chance.randrange(1, len(orders) + 1))
        return [
            (order, self.chance.choice(["8.25", "8.25", "8.24"]), self.chance.choice(["1.25", "1.30"]))
            for order in orders
        ]

    def pay(self) -> None:
        """Give the bank's month to date."""
        weeks = range(self.chance.randrange(1, len(DAYS) + 1))
        paid = {week: Decimal(self.chance.choice(["7.00", "14.00", "3.50"])) for week in weeks}
        text = "".join(f"{DAYS[week]},{amount},PO-{week + 1:06d}\n" for week, amount in paid.items())
        (self.folder / "bank.csv").write_text(BANK + text, encoding="utf-8")
        done = import_bank(self.books.ledger, self.folder / "bank.csv", self.read, supersede=True)
        self.paid.append((done.entry_no, paid))

    def undo(self) -> None:
        """Take the last import back."""
        imports = self.chance.choice([self.stated, self.paid])
        if imports:
            undo_import(self.books.ledger, imports.pop()[0], "a test", ANNE)

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
        other = [{"platform": "phone"}, {"platform": "web"}, {"platform": "old web"}, {"status": "refused"}, more, less]
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

    def right(self) -> dict[tuple[str, str], Decimal]:
        """Return the balance of each class and platform: closed and posted sales, less what statements settle."""
        found: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        signs = {"total_price": 1, "subtotal_price": -1, "delivery_price": -1, "discount": 1}
        for measure, platform, amount in self.books.all(
            "select measure, platform, sum(closed_amount + posted_amount) from mart.closed_days "
            "where sale_class = 'counted' group by all"
        ):
            if measure in signs:
                of_class = "receivable" if measure == "total_price" else measure
                found[of_class, platform] += signs[measure] * amount
        effective = {week: rows for _, of_import in self.stated for week, rows in of_import.items()}
        claimed = set()
        last = {week: no for no, of_import in self.stated for week in of_import}
        for week in sorted(effective, key=lambda week: (last[week], week)):
            for order_id, gross, commission in effective[week]:
                net = Decimal(gross) - Decimal(commission)
                order = self.orders.get(order_id, {})
                is_ours = order.get("platform") in IN_SCOPE and order["status"] == "done" and order_id not in claimed
                found["clearing", "dashline"] += net
                if is_ours:
                    claimed.add(order_id)
                    found["receivable", order["platform"]] -= Decimal(gross)
                    found["commission", "dashline"] += Decimal(commission)
                else:
                    found["unmatched", "dashline"] -= net
        for amount in self.paid[-1][1].values() if self.paid else ():
            found["bank", "dashline"] += amount
            found["clearing", "dashline"] -= amount
        return {key: amount for key, amount in found.items() if amount}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_all_files_are_the_open_items(
    seed: int, tmp_path: Path, books_of: Any, rules: dict[str, str], balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """By account and platform, after each export of a history of weeks."""
    books = books_of(tmp_path / "books")
    books.set(formula=rules, finance={"currency": "EUR"})
    lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
    (tmp_path / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")
    mapping = (MAPPINGS / "dashline.toml").read_text("utf-8").replace('= ["dashline"]', '= ["web", "old web"]')
    (tmp_path / "dashline.toml").write_text(mapping, encoding="utf-8")
    history = History(books, tmp_path, seed, balanced, hours[1])
    for number in range(STEPS):
        if history.step():
            assert sums(tmp_path) == history.right(), (seed, number)
    history.export()
    assert sums(tmp_path) == history.right(), seed
