"""Closes and restatements keep, for journals, the platform and the parts of each total; older rows lack them."""

from __future__ import annotations

import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipelines.ledger import CLOSED_ORDERS, Ledger, User, ledger_of, written_off
from pipelines.warehouse.inputs.sources import break_decisions

if TYPE_CHECKING:
    from pathlib import Path

DAY, AT = "2026-10-31", "2026-10-31T10:00:00Z"
TIPS_APART = "without_tip/unrounded"
KEPT = ("platform", "total_parts", "total_part_amounts", "total_residual", "break_content")


def test_older_decisions_are_read_by_order(tmp_path: Path) -> None:
    """An entry with order ids is about breaks of orders; one of another key decides nothing of the order's prices."""
    ledger = ledger_of(tmp_path)
    said = {"reason": "a coupon", **User(1, "Anne").body}
    ledger.append("break_accepted", {"breaks": [{"order_id": 1, "content": "a"}], **said})
    ledger.append("break_assigned", {"order_ids": [1], "assignee": "Ben"})
    ledger.append("break_commented", {"keys": ["order:1"], "comment": "later"})
    settled = {"key": "settlement:1", "content": "b", "account_class": "write_off"}
    ledger.append("break_accepted", {"breaks": [settled], **said})
    assert [(row[0], row[1], *row[6:]) for row in break_decisions(tmp_path)] == [
        ("order:1", "a", None, "Ben", 1, 1),
        ("settlement:1", "b", "write_off", None, 0, 4),
    ]
    assert written_off(ledger.entries()) == {("order:1", "a"): None, ("settlement:1", "b"): "write_off"}


def aged(ledger: Ledger) -> None:
    """Write the row files again without the newer columns, and the chain with their hashes."""
    old = [(entry, ledger.rows(entry).drop_columns([*KEPT]) if entry.file else None) for entry in ledger.entries()]
    shutil.rmtree(ledger.folder)
    for entry, rows in old:
        ledger.append(entry.act, entry.body, rows)


@pytest.mark.slow
def test_closes_and_restatements_keep_platform_and_parts(
    books: Any, rules: dict[str, str], balanced: dict[str, Any], hours: tuple[int, int]
) -> None:
    """Parts with signs and the residual are the total, by the rule in force; a platform has its own closed day."""
    phone = {"name": "phone fee", "constant": "0.50", "platform": "phone"}
    books.set(formula=rules | {"total_rule": TIPS_APART, "component": [phone]})
    prices = balanced | {"created_at": AT, "store_id": 1, "tip": "3"}
    books.land(1, **prices | {"platform": "web"})
    books.land(2, **prices | {"platform": "phone", "total_price": "8.75"})
    books.land(3, **prices | {"platform": "web", "total_price": "8.30"})
    books.publish()
    books.close(DAY)
    (entry,) = books.ledger.entries("closed")
    rows = {row["order_id"]: row for row in books.ledger.rows(entry).to_pylist()}
    parts = {no: dict(zip(row["total_parts"], row["total_part_amounts"], strict=True)) for no, row in rows.items()}
    web = {"subtotal_price": Decimal("7.25"), "delivery_price": 2, "discount": -1}
    assert parts == {1: web, 2: web | {"component:phone fee": Decimal("0.5")}, 3: web}
    assert {no: (row["platform"], row["total_residual"]) for no, row in rows.items()} == {
        1: ("web", 0),
        2: ("phone", 0),
        3: ("web", Decimal("0.05")),
    }
    assert [no for no, row in rows.items() if row["break_content"]] == [3]
    # an order of another platform later goes out of the one at close and into the new one
    books.land(2, hours[1], **prices | {"platform": "web", "total_price": "9.75", "delivery_price": "3"})
    books.land(4, hours[1], **prices | {"platform": "phone", "total_price": "8.75"})
    books.publish()
    (entry,) = books.ledger.entries("restated")
    restated = {row["order_id"]: row for row in books.ledger.rows(entry).to_pylist()}
    moved = {(row["order_id"], row["platform"]) for row in books.ledger.rows(entry).to_pylist()}
    assert moved == {(2, "phone"), (2, "web"), (4, "phone")}
    assert dict(zip(restated[4]["total_parts"], restated[4]["total_part_amounts"], strict=True)) == parts[2]
    assert {row["total_rule"] for row in restated.values()} == {TIPS_APART}
    assert books.all(
        "select platform, closed_amount, unposted_amount, current_amount from mart.closed_days "
        "where measure = 'total_price' order by platform"
    ) == [
        ("phone", Decimal("8.75"), 0, Decimal("8.75")),
        ("web", Decimal("16.55"), Decimal("9.75"), Decimal("26.3")),
    ]
    # an older folder: the same day without platforms, and the next close has them
    aged(books.ledger)
    (books.settings.data_dir / "inventory.json").unlink(missing_ok=True)
    (books.settings.data_dir / "inventory-copy.json").unlink(missing_ok=True)
    books.publish()
    assert books.all("select distinct platform from mart.closed_days") == [(None,)]
    books.reopen(DAY)
    books.publish()
    books.close(DAY)
    books.publish()
    assert books.all("select distinct platform from mart.closed_days order by all") == [("phone",), ("web",)]
    assert set(pq.read_schema(min(books.ledger.folder.glob("*closed.parquet"))).names) < set(CLOSED_ORDERS.names)
