"""The columns of the sources: inputs of a build that no load brings. What fills them is in sources.py."""

from __future__ import annotations

SOURCES: dict[str, dict[str, str]] = {
    "raw.hints": {
        "seq": "BIGINT",
        "received_at": "TIMESTAMP WITH TIME ZONE",
        "topic": "VARCHAR",
        "kind": "VARCHAR",
        "id": "BIGINT",
    },
    "raw.control_totals": {
        "entry_no": "BIGINT",
        "imported_at": "TIMESTAMP WITH TIME ZONE",
        "business_date": "DATE",
        "store_id": "BIGINT",
        "orders": "BIGINT",
        "amount": "DECIMAL(38,4)",
        "money_part": "VARCHAR",
        "sale_classes": "VARCHAR",
    },
}
