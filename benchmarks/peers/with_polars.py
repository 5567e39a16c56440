"""Flatten orders with Polars: `with_polars.py ORDERS.ndjson FOLDER`. JSON numbers become decimals by way of floats."""

import sys

import polars as pl

AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
MODIFIER = pl.Struct(
    {"id": pl.Int64, "name": pl.String, "price": pl.Float64, "action": pl.String, "quantity": pl.Int64}
)
LINE = pl.Struct(
    {
        "id": pl.Int64,
        "product_id": pl.Int64,
        "name": pl.String,
        "quantity": pl.Int64,
        "instructions": pl.String,
        "price": pl.Float64,
        "modifiers": pl.List(MODIFIER),
    }
)
ORDER = {
    "id": pl.Int64,
    "store_id": pl.Int64,
    **dict.fromkeys(("status", "platform", "dispatch_method"), pl.String),
    **dict.fromkeys(("requested_time", "promised_delivery_time", "created_at"), pl.String),
    **dict.fromkeys(AMOUNTS, pl.Float64),
    "items": pl.List(LINE),
    "deliveries": pl.List(pl.Struct({"id": pl.Int64, "type": pl.String, "status": pl.String})),
}
MONEY = pl.Decimal(18, 4)


def main(source: str, folder: str) -> None:
    """Read all documents into memory and write each table."""
    documents = pl.read_ndjson(source, schema=ORDER).rename({"id": "order_id"})
    times = pl.col("requested_time", "promised_delivery_time", "created_at").str.to_datetime(time_zone="UTC")
    orders = documents.drop("items", "deliveries").with_columns(pl.col(*AMOUNTS).round(4).cast(MONEY), times)
    orders.write_parquet(f"{folder}/orders.parquet")

    def rows(parents: pl.DataFrame, column: str, keys: list[str], number: str) -> pl.DataFrame:
        listed = parents.select(*keys, column).filter(pl.col(column).list.len() > 0)
        numbered = listed.with_columns(pl.int_ranges(1, pl.col(column).list.len() + 1).alias(number))
        return numbered.explode(column, number).unnest(column)

    lines = rows(documents, "items", ["order_id"], "line_no")
    modifiers = rows(lines, "modifiers", ["order_id", "line_no"], "modifier_no")
    price = pl.col("price").round(4).cast(MONEY)
    lines.drop("modifiers").with_columns(price).write_parquet(f"{folder}/order_lines.parquet")
    modifiers.with_columns(price).write_parquet(f"{folder}/order_line_modifiers.parquet")
    rows(documents, "deliveries", ["order_id"], "delivery_no").write_parquet(f"{folder}/order_deliveries.parquet")


if __name__ == "__main__":
    main(*sys.argv[1:])
