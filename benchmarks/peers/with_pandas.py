"""Flatten orders with pandas and the standard library: `with_pandas.py ORDERS.ndjson FOLDER`. Amounts are floats."""

import json
import sys
from pathlib import Path

import pandas as pd

TIMES = ["requested_time", "promised_delivery_time", "created_at"]
COLUMNS = [
    *("order_id", "store_id", "status", "platform", "dispatch_method", *TIMES),
    *("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price"),
]


def main(source: str, folder: str) -> None:
    """Read all documents into memory and write each table."""
    with Path(source).open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    for document in documents:
        document["order_id"] = document.pop("id")
        for line_no, line in enumerate(document["items"], 1):
            line["order_id"], line["line_no"] = document["order_id"], line_no
        for delivery_no, delivery in enumerate(document["deliveries"], 1):
            delivery["delivery_no"] = delivery_no
    orders = pd.DataFrame(documents, columns=COLUMNS)
    for column in TIMES:
        orders[column] = pd.to_datetime(orders[column], utc=True)
    items = [line for document in documents for line in document["items"]]
    modifiers = [
        {"order_id": line["order_id"], "line_no": line["line_no"], "modifier_no": modifier_no, **modifier}
        for line in items
        for modifier_no, modifier in enumerate(line["modifiers"], 1)
    ]
    deliveries = pd.json_normalize(documents, "deliveries", ["order_id"])
    tables = {
        "orders": orders,
        "order_lines": pd.DataFrame(items).drop(columns="modifiers"),
        "order_line_modifiers": pd.DataFrame(modifiers),
        "order_deliveries": deliveries[["order_id", "delivery_no", "id", "type", "status"]],
    }
    for name, table in tables.items():
        table.to_parquet(f"{folder}/{name}.parquet", compression="zstd")


if __name__ == "__main__":
    main(*sys.argv[1:])
