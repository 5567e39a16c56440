"""A ledger written under old names: its hashes stay valid, and builds, closes and audit packs read it."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.finance.periods import one_day
from pipelines.ledger import Closes, Ledger, effective_totals, verify
from pipelines.report.audit_pack import make_pack

if TYPE_CHECKING:
    from pathlib import Path

OCTOBER, DAY = "2026-10-31T10:00:00Z", dt.date(2026, 10, 31)
_MONEY, _SUM, _INSTANT = pa.decimal128(18, 4), pa.decimal128(38, 4), pa.timestamp("us", tz="UTC")
_PRICES = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
CLOSED = pa.schema(
    [
        *((name, pa.int64()) for name in ("order_id", "store_id")),
        ("business_date", pa.date32()),
        *((name, pa.string()) for name in ("sale_class", "status", "currency", "timezone", "payload_sha256")),
        *((name, _INSTANT) for name in ("fetched_at", "last_checked_at")),
        *((name, _MONEY) for name in _PRICES),
        ("line_amount", _SUM),
    ]
)
RESTATED = pa.schema(
    [
        *((name, pa.int64()) for name in ("number", "seal_no", "order_id", "store_id")),
        ("business_date", pa.date32()),
        *((name, pa.string()) for name in ("sale_class", "part", "currency")),
        *((name, _SUM) for name in ("sealed", "restated_before", "now", "difference")),  # stored name
        ("cause", pa.string()),
        ("detected_at", _INSTANT),
        ("now_business_date", pa.date32()),
        *((name, pa.string()) for name in ("now_sale_class", "now_timezone", "now_payload_sha256")),
        ("now_fetched_at", _INSTANT),
    ]
)
TOTALS = pa.schema(
    [
        ("day", pa.date32()),
        ("store_id", pa.int64()),
        ("orders", pa.int64()),
        ("amount", _SUM),
        *((name, pa.string()) for name in ("money_part", "sale_classes")),
    ]
)


def write(folder: Path, act: str, body: dict[str, Any], rows: pa.Table) -> None:
    """Append an entry with valid hashes, without the ledger's own code."""
    folder.mkdir(parents=True, exist_ok=True)
    chain = folder / "ledger.jsonl"
    lines = chain.read_bytes().splitlines() if chain.exists() else []
    file = f"{len(lines) + 1:06d}-{act}.parquet"
    pq.write_table(rows, folder / file)
    entry = {
        "no": len(lines) + 1,
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="microseconds"),
        "who": "somebody",
        "act": act,
        "body": body,
        "file": file,
        "file_sha256": hashlib.sha256((folder / file).read_bytes()).hexdigest(),
        "previous": json.loads(lines[-1])["sha256"] if lines else "0" * 64,
    }
    entry["sha256"] = hashlib.sha256(_line(entry)).hexdigest()
    chain.write_bytes(b"".join(line + b"\n" for line in [*lines, _line(entry)]))


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def circumstances(books: Any) -> dict[str, Any]:
    """Return the release, settings, rules and code of an entry, under old names."""
    manifest = json.loads((books.world.data / "published/current/manifest.json").read_text())
    day, sales = books.settings.business_day, books.settings.sales
    formula = books.settings.formula
    rules = [
        ("subtotal", "all", "all", formula.subtotal_rule, "setting"),
        ("total", "all", "all", formula.total_rule, "setting"),
    ]
    return {
        "release": manifest["id"],
        "settings": {
            "business_day": {"day_start": day.day_start, "time": day.time_field, "timezone": day.timezone},
            "sales": {"counted": list(sales.counted_statuses), "excluded": list(sales.excluded_statuses)},
            "menus": {"product_ids": "global"},
            "formula": {"min_orders": 20, "tolerated_noise": 0.05},
        },
        "rules": [dict(zip(("part", "scope", "scope_value", "rule", "source"), row, strict=True)) for row in rules],
        "code": manifest["code"],
    }


@pytest.fixture
def old(books: Any, hours: tuple[int, int]) -> Any:
    """Close a day with a counted and a deleted order, restate and post the first, and import a total: in old names."""
    rules = {"total_rule": "observed/unrounded"}
    rules["subtotal_rule"] = "line_price/no_modifiers/all_add/before_discount/unrounded"
    books.set(formula=rules)
    for order_id in (1, 2):
        books.land(order_id, created_at=OCTOBER, store_id=1, total_price="10.00")
    for hour in range(3):
        books.land(2, hours[0] + 1 + 2 * hour, verdict="missing")
    books.publish()
    folder = books.ledger.folder
    closed = books.all(
        "select orders.order_id, orders.store_id, orders.business_date, "
        "replace(cast(orders.sale_class as varchar), 'deleted', 'gone'), orders.status, orders.currency, "
        "orders.timezone, known._payload_sha256, orders._fetched_at, orders.last_checked_at, "
        + ", ".join(f"orders.{name}" for name in _PRICES)
        + ", sums.line_amount from mart.orders as orders inner join core.orders as known using (order_id) "
        "inner join mart.order_reconciliation as sums using (order_id) order by order_id"
    )
    assert [row[3] for row in closed] == ["counted", "gone"]
    rows = [dict(zip(CLOSED.names, row, strict=True)) for row in closed]
    body = {
        "days": [{"day": "2026-10-31", "stores": None}],
        "period": None,
        "store_id": None,
        "orders": 2,
        "exceptions": {"reason": "a test", "obstacles": ["rule undecided: none"]},  # stored name
        **circumstances(books),
    }
    write(folder, "closed", body, pa.Table.from_pylist(rows, schema=CLOSED))
    books.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    restated = {
        "number": 1,
        "seal_no": 1,
        "order_id": 1,
        "store_id": 1,
        "business_date": DAY,
        "sale_class": "counted",
        "part": "total_price",
        "sealed": Decimal(10),  # stored name
        "restated_before": Decimal(0),
        "now": Decimal(12),
        "difference": Decimal(2),
        "cause": "changed_by_partner",
        "detected_at": dt.datetime.now(dt.UTC),
        "now_business_date": DAY,
        "now_sale_class": "counted",
        "now_timezone": rows[0]["timezone"],
        "now_payload_sha256": "of the second document",
        "now_fetched_at": dt.datetime.now(dt.UTC),
    }
    others = [
        restated | {"number": number, "order_id": 2, "sale_class": sale_class, "part": "orders", "cause": cause}
        | {"sealed": Decimal(0)}  # stored name
        | {"now": Decimal(now), "difference": Decimal(now), "now_sale_class": "gone"}
        for number, sale_class, cause, now in ((2, "gone", "gone", 0), (3, "counted", "late_order", 0))
    ]  # fmt: skip
    body = circumstances(books) | {"release": None}
    write(folder, "restated", body, pa.Table.from_pylist([restated, *others], schema=RESTATED))
    write(folder, "posted", {"period": "2026-11", "rows": 1}, pa.table({"number": pa.array([1], pa.int64())}))
    total = {"day": DAY, "store_id": 1, "orders": 2, "amount": Decimal(22), "money_part": "total_price"}
    total["sale_classes"] = "counted+excluded+gone+unmapped"
    body = {"file": "totals.csv", "sha256": "0" * 64, "totals": 1}
    write(folder, "totals", body, pa.Table.from_pylist([total], schema=TOTALS))
    return books


def test_old_ledger_verifies_and_reads_under_current_names(old: Any) -> None:
    """The chain is intact; bodies, rows and totals have current names and values."""
    before = (old.ledger.folder / "ledger.jsonl").read_bytes()
    assert verify(old.ledger).entries == 4
    closed, restated, posted, totals = old.ledger.entries()
    assert closed.body["order_count"] == 2
    assert closed.body["exceptions"] == {"reason": "a test", "blockers": ["rule undecided: none"]}
    assert closed.body["settings"]["sales"] == {"counted_statuses": ["done"], "excluded_statuses": ["refused"]}
    assert "time_field" in closed.body["settings"]["business_day"]
    assert {rule["rule_target"] for rule in closed.body["rules"]} == {"subtotal", "total"}
    assert closed.body["release_as_of"].startswith("20")
    assert (posted.body["restatement_count"], totals.body["total_count"]) == (1, 1)
    assert old.ledger.rows(closed)["sale_class"].to_pylist() == ["counted", "deleted"]
    assert old.ledger.rows(restated)["measure"].to_pylist() == ["total_price", "order_count", "order_count"]
    assert old.ledger.rows(restated)["cause"].to_pylist() == ["source_changed", "deleted", "late_arriving"]
    assert old.ledger.rows(posted).to_pydict() == {"restatement_no": [1]}
    ((_, total),) = effective_totals(old.ledger)
    assert (total.order_count, total.sale_classes) == (2, "counted+deleted+excluded+unmapped")
    assert Closes(old.ledger.entries()).of(DAY, 1) == 1
    assert (old.ledger.folder / "ledger.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_build_reads_an_old_ledger(old: Any, hours: tuple[int, int], tmp_path: Path) -> None:
    """Old restatements count, nothing is restated because of names, and new entries follow in the same chain."""
    old.publish()
    columns = ("restatement_no", "measure", "sale_class", "restatement_amount", "cause", "posted_period")
    selected = f"select {', '.join(columns)} from mart.restatements order by 1"
    assert old.all(selected) == [
        (1, "total_price", "counted", 2, "source_changed", "2026-11"),
        (2, "order_count", "deleted", 0, "deleted", None),
        (3, "order_count", "counted", 0, "late_arriving", None),
    ]
    assert old.off() == []
    assert old.all("select tie_out_status from audit.control_totals") == [("tied",)]

    old.land(1, hours[1] + 1, created_at=OCTOBER, store_id=1, total_price="13.00")
    old.land(2, hours[1] + 1, created_at=OCTOBER, store_id=1, total_price="10.00")
    old.publish()
    assert old.restated("order_id", "restatement_amount", "cause")[1:] == [
        (1, 1, "source_changed"),
        (2, 10, "sale_class_changed"),
        (2, -10, "sale_class_changed"),
    ]
    assert old.off() == []
    assert verify(Ledger(old.ledger.folder)).entries == 5

    make_pack(old.settings, one_day(DAY.isoformat()), tmp_path / "pack", sample=1)
    with (tmp_path / "pack" / "closes.csv").open(encoding="utf-8") as file:
        rows = [(row["order_id"], row["sale_class"], row["close_entry_no"]) for row in csv.DictReader(file)]
    assert rows == [("1", "counted", "1"), ("2", "deleted", "1")]
