"""Load orders into DuckDB with dlt: `with_dlt.py ORDERS.ndjson FOLDER [tuned]`.

As its quick start has it, amounts are doubles, and those that came first as integers are in two columns. Tuned:
documents in pages, Parquet between the steps, types given, two processes for normalising.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}

PAGE = 5_000
AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
TIMES = ("requested_time", "promised_delivery_time", "created_at")


def documents(source: str) -> Iterator[dict[str, Any]]:
    """Yield each document."""
    with Path(source).open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def pages(source: str) -> Iterator[list[dict[str, Any]]]:
    """Yield pages of documents."""
    page = []
    for document in documents(source):
        page.append(document)
        if len(page) == PAGE:
            yield page
            page = []
    yield page


def main(source: str, folder: str, how: str = "default") -> None:
    """Load the documents; dlt makes the tables below an order by itself."""
    if how == "tuned":
        os.environ |= {
            "NORMALIZE__WORKERS": "2",
            "DATA_WRITER__BUFFER_MAX_ITEMS": "50000",
            "NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS": "50000",
            "EXTRACT__DATA_WRITER__FILE_MAX_ITEMS": "50000",
        }
    import dlt  # noqa: PLC0415 - it reads the environment when imported

    os.chdir(folder)
    pipeline = dlt.pipeline(
        "orders", destination=dlt.destinations.duckdb(f"{folder}/dlt.duckdb"), dataset_name="peer", pipelines_dir=folder
    )
    if how == "tuned":
        money = {"data_type": "decimal", "precision": 18, "scale": 4}
        columns: Any = {amount: {**money} for amount in AMOUNTS} | {time: {"data_type": "timestamp"} for time in TIMES}
        price = dlt.mark.make_nested_hints(columns={"price": {**money}})
        resource = dlt.resource(
            pages(source), name="orders", columns=columns, nested_hints={"items": price, ("items", "modifiers"): price}
        )
        pipeline.run(resource, loader_file_format="parquet")
    else:
        pipeline.run(documents(source), table_name="orders")


if __name__ == "__main__":
    main(*sys.argv[1:])
