"""The columns of the sources: inputs of a build that no load brings. What fills them is in sources.py."""

from __future__ import annotations

from pipelines.warehouse.inputs.closes import COLUMNS as CLOSING

SOURCES: dict[str, dict[str, str]] = {
    "raw.hints": {
        "seq": "BIGINT",
        "received_at": "TIMESTAMP WITH TIME ZONE",
        "topic": "VARCHAR",
        "kind": "VARCHAR",
        "id": "BIGINT",
    },
    "raw.plans": {
        "plan_no": "BIGINT",
        "planned_at": "TIMESTAMP WITH TIME ZONE",
        "due": "BIGINT",
        "left_out": "BIGINT",
        "population": "BIGINT",
        "sampled": "BIGINT",
        "checked": "BIGINT",
        "changed": "BIGINT",
        "missing": "BIGINT",
        "confidence": "DOUBLE",
        "share_low": "DOUBLE",
        "share_high": "DOUBLE",
        "gap_requested_count": "BIGINT",
        "gap_found_count": "BIGINT",
        "gap_unnotified_count": "BIGINT",
    },
    "raw.control_totals": {
        "entry_no": "BIGINT",
        "imported_at": "TIMESTAMP WITH TIME ZONE",
        "business_date": "DATE",
        "store_id": "BIGINT",
        "order_count": "BIGINT",
        "amount": "DECIMAL(38,4)",
        "amount_field": "VARCHAR",
        "sale_classes": "VARCHAR",
    },
    "raw.verifications": {
        "verification_no": "BIGINT",
        "verified_at": "TIMESTAMP WITH TIME ZONE",
        "part": "VARCHAR",
        "first_order_id": "BIGINT",
        "last_order_id": "BIGINT",
        "business_date": "DATE",
        "order_count": "BIGINT",
        "table_count": "BIGINT",
        "difference_count": "BIGINT",
        "first_difference": "VARCHAR",
        "release_id": "VARCHAR",
        "duration_ms": "BIGINT",
    },
    **CLOSING,
}
