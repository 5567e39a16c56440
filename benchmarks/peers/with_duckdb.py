"""Flatten orders with DuckDB alone, by hand: `with_duckdb.py ORDERS.ndjson FOLDER`."""

import sys

import duckdb

AMOUNTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
MODIFIER = {"id": "BIGINT", "name": "VARCHAR", "price": "DECIMAL(18,4)", "action": "VARCHAR", "quantity": "BIGINT"}
LINE = {
    "id": "BIGINT",
    "product_id": "BIGINT",
    "name": "VARCHAR",
    "quantity": "BIGINT",
    "instructions": "VARCHAR",
    "price": "DECIMAL(18,4)",
}
ORDER = {
    "id": "BIGINT",
    "store_id": "BIGINT",
    "status": "VARCHAR",
    "platform": "VARCHAR",
    "dispatch_method": "VARCHAR",
    "requested_time": "TIMESTAMPTZ",
    "promised_delivery_time": "TIMESTAMPTZ",
    "created_at": "TIMESTAMPTZ",
    **dict.fromkeys(AMOUNTS, "DECIMAL(18,4)"),
}
DELIVERY = {"id": "BIGINT", "type": "VARCHAR", "status": "VARCHAR"}


def _struct(fields: dict[str, str]) -> str:
    return "STRUCT(" + ", ".join(f'"{name}" {of}' for name, of in fields.items()) + ")"


def main(source: str, folder: str) -> None:
    """Read the documents once into a table, and write each table from it."""
    lines = LINE | {"modifiers": _struct(MODIFIER) + "[]"}
    columns = ORDER | {"items": _struct(lines) + "[]", "deliveries": _struct(DELIVERY) + "[]"}
    con = duckdb.connect()
    con.execute("set preserve_insertion_order = false")
    typed = ", ".join(f"'{name}': '{of}'" for name, of in columns.items())
    con.execute(
        f"create table documents as from read_json('{source}', format = 'newline_delimited', columns = {{{typed}}})"
    )
    con.execute(
        "create table lines as select id as order_id, unnest(items) as line, "
        "generate_subscripts(items, 1) as line_no from documents"
    )
    tables = {
        "orders": "select * exclude (id, items, deliveries), id as order_id from documents",
        "order_lines": f"select order_id, line_no, {', '.join(f'line.{name}' for name in LINE)} from lines",
        "order_line_modifiers": (
            "select order_id, line_no, unnest(line.modifiers, max_depth := 2), "
            "generate_subscripts(line.modifiers, 1) as modifier_no from lines"
        ),
        "order_deliveries": (
            "select id as order_id, generate_subscripts(deliveries, 1) as delivery_no, "
            "unnest(deliveries, max_depth := 2) from documents"
        ),
    }
    for name, select in tables.items():
        con.execute(f"copy ({select}) to '{folder}/{name}.parquet' (compression zstd)")


if __name__ == "__main__":
    main(*sys.argv[1:])
