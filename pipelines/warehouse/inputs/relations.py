"""The inputs that a build gives to sql/: schema `raw`, its columns, and how documents are typed.

| table | rows |
|---|---|
| raw.latest_orders, latest_menus, latest_stores | the latest version of each document that was ever accepted, typed |
| raw.order_checks, menu_checks, store_checks | for the same ids: when it was last asked for, and what came |
| raw.order_versions, menu_versions, store_versions | versions not in the tables yet, typed; a full build: all |
| raw.order_edits | for each such version but an order's first: the contents before and after it, and what differs |
| raw.order_sightings | versions of orders in the tables already that were seen again |
| raw.states | both of the above for every kind, without documents: one row per (kind, id) ever observed |
| raw.observations | every verdict of the loads at hand (scope load: the new ones; a full build: all) |
| raw.refusals | every quarantined verdict ever |
| raw.sales_sets | which sets of statuses tie to control totals: `evidence/sales_sets.py` |
| raw.settings | one row: the settings' answers |
| raw.formula_settings, formula_components | the rules and components that settings name, one row each |
| raw.formula_forms, formula_rules, formula_parts | the candidate rules: `evidence/candidates.py` |
| raw.formula_populations, formula_divisions, formula_evidence | what `evidence/` gathers from the order tables |
| raw.document_notes | what validation recorded of each document of the loads at hand, one row an issue |
| raw.service_log | what was counted of the service's behaviour, by day: `partner/behaviour.py` |
| raw.assumptions | the interface's open questions, and the settings' assumptions: a source |
| raw.question_sentences | in which words audit.questions says what the data show: a source, `sentences.py` |
| raw.product_categories | product_id and category of the file of [reference] products: a source |
| raw.zone_offsets | when the clocks of every timezone change: `zones.zone_offsets()` |
| raw.findings | the violations of the warning checks |
| raw.plans | what was planned night by night, and what came of it: a source |
| raw.verifications | which parts of the warehouse were proven when: a source |
| raw.control_totals | the effective control totals of the ledger: a source |
| raw.hints | what webhooks named, one row per delivery that named an id: a source, see sources.py |
| raw.day_closes, closed_orders, restated | active closes, orders ever closed, restatements ever recorded: sources |
| raw.break_decisions | what people decided of breaks, one row per order: a source |
| raw.closed_rules, closed_scopes | the rules that closes recorded, and which orders each is about: sources |
| raw.closed_components | the components of the settings that each close was made with: a source |

Checks are separate because a document that did not change is not read again: a table that shows last_checked_at
joins them. One select reads documents or checks of a kind, not both. Versions of menus and stores come with the last
one that the tables have, without its document.

How documents are typed is in `documents.py`.
"""

from __future__ import annotations

from pipelines.landing.shape import COUNTS, SUMS
from pipelines.settings.kinds import ENTITIES, KINDS, WHOLE_KINDS, Kind
from pipelines.warehouse.inputs.documents import CONTENT, DOCUMENTS, ENTITY, sql_type
from pipelines.warehouse.inputs.source_columns import (
    FORMULA_CANDIDATES,
    FORMULA_EVIDENCE,
    FORMULA_SETTINGS,
    SALES_SETS,
    SOURCES,
)

_LINEAGE = {
    "is_deleted": "BOOLEAN",
    "_fetched_at": "TIMESTAMP WITH TIME ZONE",
    "_load_id": "VARCHAR",
    "_payload_sha256": "VARCHAR",
}
# which version it is, and when it was last observed
_VERSION = {"version_no": "BIGINT", "last_seen_at": "TIMESTAMP WITH TIME ZONE"}
_NOTES = {"absences": "VARCHAR[]", "rounded": "BIGINT"}
# What validation counted and added up, from the JSON text.
VALIDATED: dict[str, dict[str, str]] = {
    kind: {f"validated_{name}": "BIGINT" for name in COUNTS[kind]}
    | {f"validated_{name}": "DECIMAL(38,4)" for name in SUMS[kind]}
    for kind in KINDS
}
# The service no longer knows a document after this many 404s, each an hour or more after the one counted before.
DELETED_AFTER = 3
IS_DELETED = f"misses >= {DELETED_AFTER}"
OBSERVATION = {
    "kind": "VARCHAR",
    "id": "BIGINT",
    "seq": "BIGINT",
    "observed_at": "TIMESTAMP WITH TIME ZONE",
    "source": "VARCHAR",
    "verdict": "VARCHAR",
    "sha256": "VARCHAR",
    "http_status": "BIGINT",
    "load_id": "VARCHAR",
    "reason": "VARCHAR",
    "pointer": "VARCHAR",
    "customer_key": "VARCHAR",
    "changed_personal": "VARCHAR[]",
    "ms": "BIGINT",
    "bytes": "BIGINT",
    "tries": "BIGINT",
    "earlier_tries": "STRUCT(http_status BIGINT, reason VARCHAR, ms BIGINT, bytes BIGINT)[]",
    "is_backfill": "BOOLEAN",
    "load_started_at": "TIMESTAMP WITH TIME ZONE",
}
_CHECKS = {
    "last_checked_at": "TIMESTAMP WITH TIME ZONE",
    "last_verdict": "VARCHAR",
    "misses": "BIGINT",
    "last_source": "VARCHAR",
}


def _versions(kind: str) -> dict[str, str]:
    return {
        ENTITY[kind]: "BIGINT",
        "version_no": "BIGINT",
        "first_seen_at": "TIMESTAMP WITH TIME ZONE",
        "last_seen_at": "TIMESTAMP WITH TIME ZONE",
        "document": sql_type(DOCUMENTS[kind]),
        "_load_id": "VARCHAR",
    }


RAW: dict[str, dict[str, str]] = {
    **{
        f"raw.latest_{kind}": {
            ENTITY[kind]: "BIGINT",
            "document": sql_type(DOCUMENTS[kind]),
            **({"customer_key": "VARCHAR"} if kind == "orders" else {}),
            **_LINEAGE,
            **_VERSION,
            **_NOTES,
            **VALIDATED[kind],
        }
        for kind in KINDS
    },
    "raw.order_versions": _versions("orders") | {"_payload_sha256": "VARCHAR"},
    **{f"raw.{ENTITIES[kind]}_versions": _versions(kind) | {"is_new": "BOOLEAN"} for kind in WHOLE_KINDS},
    "raw.order_edits": {
        "order_id": "BIGINT",
        "version_no": "BIGINT",
        "lines_version_no": "BIGINT",
        "before": sql_type(CONTENT),
        "after": sql_type(CONTENT),
        "changes": "STRUCT(field VARCHAR, old_value VARCHAR, new_value VARCHAR)[]",
    },
    "raw.order_sightings": {"order_id": "BIGINT", **_VERSION},
    **{f"raw.{ENTITIES[kind]}_checks": {ENTITY[kind]: "BIGINT", **_CHECKS} for kind in KINDS},
    "raw.states": {
        "kind": "VARCHAR",
        "id": "BIGINT",
        "customer_key": "VARCHAR",
        "last_good_at": "TIMESTAMP WITH TIME ZONE",
        **_LINEAGE,
        **_CHECKS,
    },
    "raw.observations": OBSERVATION,
    "raw.refusals": OBSERVATION,
    "raw.settings": {
        "business_day_time": "VARCHAR",
        "business_day_timezone": "VARCHAR",
        "business_day_start": "INTERVAL",
        "daypart_of_hour": "VARCHAR[]",
        "sales_counted": "VARCHAR[]",
        "sales_excluded": "VARCHAR[]",
        "menus_product_id_scope": "VARCHAR",
        "plaintext_fields": "VARCHAR[]",
        "known_fields": "VARCHAR[]",
        "privacy_customer_key": "BOOLEAN",
        "formula_total_rule": "VARCHAR",
        "formula_subtotal_rule": "VARCHAR",
        "formula_min_distinguishing_orders": "BIGINT",
        "formula_max_violation_rate": "DOUBLE",
        "finance_currency": "VARCHAR",
        "finance_duplicate_minutes": "BIGINT",
    },
    "raw.document_notes": {"kind": "VARCHAR", "load_id": "VARCHAR", "id": "BIGINT", "note": "VARCHAR"},
    "raw.service_log": {
        "day": "DATE",
        "operation": "VARCHAR",
        "aspect": "VARCHAR",
        "name": "VARCHAR",
        "n": "BIGINT",
        "least": "DOUBLE",
        "greatest": "DOUBLE",
        "first_at": "TIMESTAMP WITH TIME ZONE",
        "last_at": "TIMESTAMP WITH TIME ZONE",
    },
    "raw.assumptions": {
        "no": "BIGINT",
        "question": "VARCHAR",
        "section": "VARCHAR",
        "undocumented": "VARCHAR",
        "assumption": "VARCHAR",
        "partner_question": "VARCHAR",
    },
    "raw.question_sentences": {"code": "VARCHAR", "part": "VARCHAR", "line": "VARCHAR"},
    "raw.zone_offsets": {"timezone": "VARCHAR", "from_us": "BIGINT", "offset_us": "BIGINT"},
    **FORMULA_SETTINGS,
    **FORMULA_CANDIDATES,
    **FORMULA_EVIDENCE,
    **SALES_SETS,
    **SOURCES,
    "raw.findings": {
        "check_name": "VARCHAR",
        "table_name": "VARCHAR",
        "entity_id": "BIGINT",
        "location": "VARCHAR",
        "residual": "DECIMAL(38,4)",
        "detail": "VARCHAR",
    },
}

# The kinds of documents behind each input: the edges from the raw assets to the tables that read it. Inputs of no kind
# come from settings, the ledger or webhooks.
LANDED_KINDS: dict[str, tuple[Kind, ...]] = {
    **{f"raw.latest_{kind}": (kind,) for kind in KINDS},
    **{f"raw.{ENTITIES[kind]}_{what}": (kind,) for kind in KINDS for what in ("versions", "checks")},
    "raw.order_edits": ("orders",),
    "raw.order_sightings": ("orders",),
    "raw.states": KINDS,
    "raw.observations": KINDS,
    "raw.refusals": KINDS,
    "raw.document_notes": KINDS,
    "raw.service_log": KINDS,
    "raw.findings": KINDS,
    "raw.plans": ("orders",),
    "raw.verifications": (),
    "raw.closed_rules": (),
    "raw.closed_scopes": (),
    "raw.closed_components": (),
    "raw.formula_settings": (),
    "raw.formula_components": (),
    "raw.formula_forms": (),
    "raw.formula_rules": (),
    "raw.formula_parts": (),
    "raw.formula_populations": (),
    "raw.formula_divisions": (),
    "raw.formula_evidence": (),
    "raw.sales_sets": (),
    "raw.settings": (),
    "raw.assumptions": (),
    "raw.question_sentences": (),
    "raw.product_categories": (),
    "raw.zone_offsets": (),
    "raw.hints": (),
    "raw.control_totals": (),
    "raw.day_closes": (),
    "raw.closed_orders": (),
    "raw.restated": (),
    "raw.break_decisions": (),
}
