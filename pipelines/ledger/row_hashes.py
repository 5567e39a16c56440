"""Hash the closed orders of a day so that Python's standard library can compute the same from closes.csv.

A row is the texts of its columns, null as "", amounts with four decimals, as a JSON array, and of a charge that a later
release added its name and amount, if the order states it, so that what was hashed before has the same hash. The hash of
a day is the SHA-256 of its rows by order id, each followed by a line feed. `report/verify_audit_pack.py` computes it
again.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.landing.charges import OPTIONAL, REQUIRED_PRICES

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    import pyarrow as pa

AMOUNTS = (*REQUIRED_PRICES, "line_amount")
LATER = tuple(charge.name for charge in OPTIONAL)
HASHED = ("order_id", "store_id", "business_date", "sale_class", "status", "currency", "payload_sha256", *AMOUNTS)


def day_hashes(rows: pa.Table) -> list[dict[str, Any]]:
    """Return of each day among closed orders: day, order_count, the amounts by currency, and rows_sha256."""
    days: dict[dt.date, list[dict[str, Any]]] = {}
    for row in rows.select([*HASHED, *LATER]).to_pylist():
        days.setdefault(row["business_date"], []).append(row)
    return [
        {
            "day": day.isoformat(),
            "order_count": len(found),
            "amounts": _amounts(found),
            "rows_sha256": _hash(found),
        }
        for day, found in sorted(days.items())
    ]


def _hash(rows: Iterable[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for row in sorted(rows, key=lambda row: int(row["order_id"])):
        texts = [_text(row[name]) for name in HASHED]
        texts += [f"{name} {_text(row[name])}" for name in LATER if row[name] is not None]
        digest.update(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _amounts(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return currency → amount → exact sum of known amounts, as text."""
    sums: dict[str, dict[str, Decimal]] = {}
    for row in rows:
        of_currency = sums.setdefault(row["currency"] or "", {})
        for name in (*AMOUNTS, *LATER):
            if row[name] is not None:
                of_currency[name] = of_currency.get(name, Decimal(0)) + row[name]
    return {currency: {name: _text(amount) for name, amount in each.items()} for currency, each in sums.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, Decimal) else str(value)
