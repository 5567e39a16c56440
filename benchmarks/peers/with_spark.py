"""Flatten orders with Spark on this machine: `with_spark.py ORDERS.ndjson FOLDER`."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

MONEY = "decimal(18,4)"
AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
MODIFIER = f"struct<id: bigint, name: string, price: {MONEY}, action: string, quantity: bigint>"
LINE = (
    f"struct<id: bigint, product_id: bigint, name: string, quantity: bigint, instructions: string, price: {MONEY}, "
    f"modifiers: array<{MODIFIER}>>"
)
SCHEMA = (
    "id bigint, store_id bigint, status string, platform string, dispatch_method string, requested_time timestamp, "
    "promised_delivery_time timestamp, created_at timestamp, "
    + ", ".join(f"{amount} {MONEY}" for amount in AMOUNTS)
    + f", items array<{LINE}>, deliveries array<struct<id: bigint, type: string, status: string>>"
)


def main(source: str, folder: str) -> None:
    """Read the documents once, keep them, and write each table."""
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    documents = session.read.schema(SCHEMA).json(source).withColumnRenamed("id", "order_id").cache()
    at = f.col("place") + 1
    lines = documents.select("order_id", f.posexplode("items").alias("place", "line"))
    lines = lines.select("order_id", at.alias("line_no"), "line.*").cache()
    modifiers = lines.select("order_id", "line_no", f.posexplode("modifiers").alias("place", "modifier"))
    deliveries = documents.select("order_id", f.posexplode("deliveries").alias("place", "delivery"))
    tables = {
        "orders": documents.drop("items", "deliveries"),
        "order_lines": lines.drop("modifiers"),
        "order_line_modifiers": modifiers.select("order_id", "line_no", at.alias("modifier_no"), "modifier.*"),
        "order_deliveries": deliveries.select("order_id", at.alias("delivery_no"), "delivery.*"),
    }
    for name, table in tables.items():
        table.write.mode("overwrite").parquet(f"{folder}/{name}.parquet", compression="zstd")
    gateway = session.sparkContext._gateway  # noqa: SLF001 - waiting for its process counts what it took
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
