"""Control totals: imported exactly or rejected with line and column; a later one replaces an earlier one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.ledger import Ledger, TotalsError, effective_totals, import_totals, read_totals, verify

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "business_date,store_id,order_count,amount,amount_field,sale_classes\n"
GOOD = "2026-10-31,1,10,1234567890123.4501,total_price,counted\n"


def test_amounts_are_exact_and_columns_in_any_order() -> None:
    """Amounts keep every digit; a byte order mark, blank lines and another order of columns are accepted."""
    header = "\ufeffstore_id,business_date,amount,order_count,sale_classes,amount_field\n"
    text = header + "1,2026-10-31,0.1,,deleted + counted,tip\n\n"
    (total,) = read_totals(text.encode(), "t.csv")
    assert total == (dt.date(2026, 10, 31), 1, None, Decimal("0.1000"), "tip", "counted+deleted")
    (total,) = read_totals((HEADER + GOOD).encode(), "t.csv")
    assert total.amount == Decimal("1234567890123.4501")
    (total,) = read_totals((HEADER + "2026-10-31,1,3,,total_price,all\n").encode(), "t.csv")
    assert (total.amount, total.sale_classes) == (None, "counted+deleted+excluded+unmapped")
    (total,) = read_totals((HEADER + GOOD.replace(",1,", f",{2**63 - 1},")).encode(), "t.csv")
    assert total.store_id == 2**63 - 1, "the largest id that documents may have"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("31.10.2026,1,10,5,total_price,counted", "line 3, column business_date"),
        ("2026-10-31,x,10,5,total_price,counted", "line 3, column store_id"),
        ("2026-10-31,9223372036854775808,10,5,total_price,counted", "line 3, column store_id"),
        ("2026-10-31,99999999999999999999,10,5,total_price,counted", "line 3, column store_id"),
        ("2026-10-31,2,1.5,5,total_price,counted", "line 3, column order_count"),
        ('2026-10-31,2,10,"1,234.50",total_price,counted', "line 3, column amount"),
        ("2026-10-31,2,10,1e3,total_price,counted", "line 3, column amount"),
        ("2026-10-31,2,10,1.00001,total_price,counted", "line 3, column amount"),
        ("2026-10-31,2,10,NaN,total_price,counted", "line 3, column amount"),
        ("2026-10-31,2,10,5,total,counted", "line 3, column amount_field"),
        ("2026-10-31,2,10,5,total_price,sold", "line 3, column sale_classes"),
        ("2026-10-31,2,10,5,total_price,", "line 3, column sale_classes"),
        ("2026-10-31,2,,,total_price,counted", "line 3, columns order_count and amount"),
        ("2026-10-31,2,10,5,total_price", "line 3: 5 fields"),
        ("2026-10-31,1,9,5,total_price,counted", "line 3: line 2 has the same"),
    ],
)
def test_invalid_field_is_named(tmp_path: Path, line: str, names: str) -> None:
    """An invalid field is named by line and column, and nothing of its file is imported."""
    file = tmp_path / "totals.csv"
    file.write_text(HEADER + GOOD + line + "\n", encoding="utf-8")
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(TotalsError, match=f"totals.csv, {names}"):
        import_totals(ledger, file)
    assert list(ledger.entries()) == []


@pytest.mark.parametrize(
    "content", [b"", b"business_date,store_id\n", HEADER.encode(), b"\xff\xfe", HEADER.encode() + b'"']
)
def test_invalid_file_is_rejected(content: bytes) -> None:
    """An empty file, another header, a header only, another encoding and broken quotes are rejected."""
    with pytest.raises(TotalsError, match=r"t\.csv"):
        read_totals(content, "t.csv")


def test_later_import_replaces_earlier(tmp_path: Path) -> None:
    """A total with the same key replaces the earlier one; both entries stay in the chain."""
    ledger = Ledger(tmp_path / "ledger")
    file = tmp_path / "totals.csv"
    file.write_text(HEADER + GOOD + "2026-10-31,1,10,7,tip,counted\n", encoding="utf-8")
    assert import_totals(ledger, file) == (1, 2, 0)
    file.write_text(HEADER + "2026-10-31,1,11,99.5,total_price,counted\n", encoding="utf-8")
    assert import_totals(ledger, file) == (2, 1, 1)
    assert [(entry.no, total.amount_field, total.order_count) for entry, total in effective_totals(ledger)] == [
        (1, "tip", 10),
        (2, "total_price", 11),
    ]
    assert verify(ledger).entries == 2
