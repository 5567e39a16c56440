"""The columns of the sources: inputs of a build that no load brings. What fills them is in sources.py."""

from __future__ import annotations

from pipelines.warehouse.inputs.breaks import COLUMNS as BREAKS
from pipelines.warehouse.inputs.closes import COLUMNS as CLOSING

SOURCES: dict[str, dict[str, str]] = {
    "raw.hints": {
        "seq": "BIGINT",
        "received_at": "TIMESTAMP WITH TIME ZONE",
        "topic": "VARCHAR",
        "kind": "VARCHAR",
        "id": "BIGINT",
    },
    "raw.product_categories": {"product_id": "BIGINT", "category": "VARCHAR"},
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
    **BREAKS,
}

_SCOPE = {
    "platform": "VARCHAR",
    "dispatch_method": "VARCHAR",
    "store_id": "BIGINT",
    "status": "VARCHAR",
    "first_day": "DATE",
    "last_day": "DATE",
}
# What settings say of formulas, one row each.
FORMULA_SETTINGS: dict[str, dict[str, str]] = {
    "raw.formula_settings": {
        "setting_no": "BIGINT",
        "rule_target": "VARCHAR",
        "rule": "VARCHAR",
        **_SCOPE,
    },
    "raw.formula_components": {
        "component_no": "BIGINT",
        "name": "VARCHAR",
        "amount": "DECIMAL(18,4)",
        "share": "DECIMAL(9,4)",
        "base": "VARCHAR",
        **_SCOPE,
    },
}

_FORM_PARAMETERS = {"rule_parameters": "BIGINT[]", "complexity": "BIGINT"}
# The candidate rules, for the tables of the same names in audit.
FORMULA_CANDIDATES: dict[str, dict[str, str]] = {
    "raw.formula_forms": {
        "rule_target": "VARCHAR",
        "form_no": "BIGINT",
        "form": "VARCHAR",
        "form_description": "VARCHAR",
        "line_expression": "VARCHAR",
        "unit_expression": "VARCHAR",
        "rest_expression": "VARCHAR",
        **_FORM_PARAMETERS,
    },
    "raw.formula_rules": {
        "rule_target": "VARCHAR",
        "form_no": "BIGINT",
        "rounding_no": "BIGINT",
        "rule": "VARCHAR",
        "rule_description": "VARCHAR",
        "expression": "VARCHAR",
        **_FORM_PARAMETERS,
        "kept_decimals": "BIGINT",
        "rounding_mode": "VARCHAR",
        "rounded_per": "VARCHAR",
    },
    "raw.formula_parts": {
        "rule_target": "VARCHAR",
        "part_no": "BIGINT",
        "part": "VARCHAR",
        "deciding_case": "VARCHAR",
        "is_tested": "BOOLEAN",
        "parameter_no": "BIGINT",
    },
}

# What evidence/ gathers, for the tables of the same names in audit.
FORMULA_EVIDENCE: dict[str, dict[str, str]] = {
    "raw.formula_populations": {
        "rule_target": "VARCHAR",
        "population_no": "BIGINT",
        "scope": "VARCHAR",
        "verdict": "VARCHAR",
        "form_no": "BIGINT",
        "rounding_no": "BIGINT",
        "rule_setting_no": "BIGINT",
        "is_assumable": "BOOLEAN",
        "open_parts": "BIGINT[]",
        "candidate_forms": "BIGINT[]",
        "order_count": "BIGINT",
        "fit_count": "BIGINT",
        "min_fit_rate": "DOUBLE",
        "candidate_count": "BIGINT",
        "needed_order_count": "BIGINT",
        "rival_form_no": "BIGINT",
        "distinguishing_order_count": "BIGINT",
        "distinguishing_fit_count": "BIGINT",
        "deciding_cases": "VARCHAR[]",
        "residual_pattern": "VARCHAR",
        "sentence": "VARCHAR",
        "residual_kind": "VARCHAR",
        "residual_value": "DECIMAL(18,4)",
        "residual_base": "VARCHAR",
    },
    "raw.formula_divisions": {
        "rule_target": "VARCHAR",
        "node_no": "BIGINT",
        "dimension": "VARCHAR",
        "part_no": "BIGINT",
        "value": "VARCHAR",
        "is_rest": "BOOLEAN",
        "child_no": "BIGINT",
    },
    "raw.formula_evidence": {
        "rule_target": "VARCHAR",
        "population_no": "BIGINT",
        "form_no": "BIGINT",
        "part_no": "BIGINT",
        "order_count": "BIGINT",
        "fit_count": "BIGINT",
        "min_fit_count": "BIGINT",
        "is_leader": "BOOLEAN",
        "is_refuted": "BOOLEAN",
    },
}

# What evidence/ finds of sets of statuses.
SALES_SETS: dict[str, dict[str, str]] = {
    "raw.sales_sets": {
        "statuses": "VARCHAR[]",
        "is_configured": "BOOLEAN",
        "verdict": "VARCHAR",
        "reason": "VARCHAR",
        "store_day_count": "BIGINT",
        "tied_store_day_count": "BIGINT",
        "distinguishing_day_count": "BIGINT",
        "distinguishing_tied_count": "BIGINT",
    },
}
