"""The inputs that a build gives to sql/: schema `raw`, its columns, and how documents are typed.

| table | rows |
|---|---|
| raw.latest_orders, latest_menus, latest_stores | each document in its latest good version, or the one held, typed |
| raw.order_checks, menu_checks, store_checks | for the same ids: when it was last asked for, and what came |
| raw.order_versions, menu_versions, store_versions | versions not in the tables yet, typed; a full build: all |
| raw.order_edits | for each such version but an order's first: the contents before and after it, and what differs |
| raw.order_sightings | versions of orders in the tables already that were seen again |
| raw.states | both of the above for every kind, without documents: one row per (kind, id) ever observed |
| raw.observations | every verdict of the loads at hand (scope load: the new ones; a full build: all) |
| raw.refusals | every quarantined verdict ever |
| raw.settings | one row: the settings' answers |
| raw.formula_settings, formula_components | the rules and components that settings name, one row each |
| raw.formula_forms, formula_rules, formula_parts | the candidate rules: `evidence/candidates.py` |
| raw.formula_populations, formula_divisions, formula_evidence | what `evidence/` gathers from the order tables |
| raw.document_notes | what validation recorded of each document of the loads at hand, one row an issue |
| raw.service_log | what was counted of the service's behaviour: `partner/behaviour.py` |
| raw.assumptions | the interface's open questions, and the settings' assumptions: a source |
| raw.product_categories | product_id and category of the file of [reference] products: a source |
| raw.zone_offsets | when the clocks of every timezone change: `zones.zone_offsets()` |
| raw.findings | the violations of the warning checks |
| raw.verifications | which parts of the warehouse were proven when: a source |
| raw.control_totals | the effective control totals of the ledger: a source |
| raw.settlement_statements, settlement_lines | effective statements by currency, and their neutral lines: sources |
| raw.settlement_payouts | what platforms state to pay, beside the lines of it: sources |
| raw.bank_files, bank_payouts | the effective files of banks, and which payouts they name: sources |
| raw.hints | what webhooks named, one row per delivery that named an id: a source, see sources.py |
| raw.day_closes, closed_orders, restated | active closes, orders ever closed, restatements ever recorded: sources |
| raw.break_decisions | what people decided of breaks, one row per key of a break: a source |
| raw.closed_rules, closed_scopes | the rules that closes recorded, and which orders each is about: sources |
| raw.closed_components | the components of the settings that each close was made with: a source |

Checks are separate because a document that did not change is not read again: a table that shows last_checked_at
joins them. One select reads documents or checks of a kind, not both. Versions of menus and stores come with the last
one that the tables have, without its document.

Documents are typed field by field of their shape, money exact out of JSON strings; a field that one lacks is null.

Read landed files into schema `raw` of a build: observations of given loads, and typed documents of given states.

Knows where columns come from and how documents are typed, not which loads or ids are wanted.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.landing.raw_folder import RawFile
from pipelines.landing.shape import COUNTS, ORDER, SHAPES, STORE, SUMS, ArrayField, Field, MapField, Shape
from pipelines.ledger.entries import CLOSED_ORDERS, RESTATEMENTS
from pipelines.literals import literals
from pipelines.settings.kinds import ENTITIES, KINDS, WHOLE_KINDS, Kind
from pipelines.settlements.importing import CREDITS
from pipelines.settlements.lines import LINES
from pipelines.warehouse.catalogue.selects import HELD, filled, held_fields
from pipelines.warehouse.storage import count_of

_DECIMALS = ((18, 4), (18, 6), (38, 4), (38, 8), (38, 0))
ARROW_TYPES: dict[str, pa.DataType] = {
    **{f"DECIMAL({width},{scale})": pa.decimal128(width, scale) for width, scale in _DECIMALS},
    "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "VARCHAR": pa.string(), "DATE": pa.date32(),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"), "TIMESTAMP": pa.timestamp("us"),
}  # fmt: skip
"""The Arrow type of each type of DuckDB that a column may have; an ENUM is a text."""
ARROW_TYPES |= {f"{kind}[]": pa.list_(ARROW_TYPES[kind]) for kind in ("BIGINT", "VARCHAR", "DECIMAL(38,4)")}
# Times stay text: sql/ casts them, and a cast that fails says so, which from_json does not.
_TYPES = {"integer": "BIGINT", "text": "VARCHAR", "time": "VARCHAR", "money": "DECIMAL(18,4)"}
INSTANT = "TIMESTAMP WITH TIME ZONE"
ENTITY = {kind: f"{entity}_id" for kind, entity in ENTITIES.items()}


def _typed(shape: Shape) -> dict[str, Any]:
    """Return a shape as names and DuckDB's types; of a hidden field also whether it is there."""
    found: dict[str, Any] = {}
    for field in shape.fields:
        if not isinstance(field, Field):
            below = _typed(field.of)
            of_map = {"*": below} if isinstance(field, MapField) else below
            found[field.name] = [below] if isinstance(field, ArrayField) else of_map
            continue
        if field.is_hidden:
            found[f"has_{field.name}"] = "BOOLEAN"
        if not field.personal:
            found[field.name] = _TYPES[field.leaf]
    return found


_BESIDES = {"_unknown": {"*": "VARCHAR"}, "_kept": "VARCHAR"}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "stores": _typed(STORE) | {"menu_ids": ["BIGINT"], "attributes": "VARCHAR"} | _BESIDES,
    **{kind: _typed(shape) | _BESIDES for kind, shape in SHAPES.items()},
}


def _content(shape: Shape, path: str = "") -> dict[str, Any]:
    """Return the part of a typed order that core tables hold, with times as instants."""
    held = HELD["orders"][path]
    times = {field.name: INSTANT for field in shape.leaves if field.leaf == "time"}
    below = {f.name: f"{path}/{f.name}/*" for f in shape.fields if not isinstance(f, Field)}
    return {
        name: [_content(SHAPES["orders"].objects()[below[name]], below[name])] if name in below else type_
        for name, type_ in (_typed(shape) | times).items()
        if (below[name] in HELD["orders"] if name in below else held.column(name))
    }


# An order as two versions of it are compared: an absent array is an empty one, and times are instants.
CONTENT: dict[str, Any] = _content(ORDER)


def sql_type(shape: Any) -> str:
    """Return DuckDB's type of a document's shape: `[…]` is a list, `{"*": …}` a map, another dict a struct."""
    if isinstance(shape, list):
        return f"{sql_type(shape[0])}[]"
    if isinstance(shape, dict) and "*" in shape:
        return f"MAP(VARCHAR, {sql_type(shape['*'])})"
    if isinstance(shape, dict):
        return "STRUCT(" + ", ".join(f'"{name}" {sql_type(each)}' for name, each in shape.items()) + ")"
    return str(shape)


def structure(shape: Any) -> str:
    """Return the same shape as the second argument of `from_json`."""
    return json.dumps(_structure(shape))


def _structure(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_structure(shape[0])]
    if isinstance(shape, dict) and "*" in shape:
        return f"MAP(VARCHAR, {sql_type(shape['*'])})"
    if isinstance(shape, dict):
        return {name: _structure(each) for name, each in shape.items()}
    return shape


def changes(before: str, after: str, personal: str) -> str:
    """Return the list of the fields that differ between two contents, as structs of field, old_value, new_value.

    Of hidden fields (also those in `personal`, a list of names) and of arrays only the names are given.
    """
    plain = {field.name for field in held_fields("orders")[""] if not field.is_hidden} - {"id"}
    differs = {name: f"{before}.{name} is distinct from {after}.{name}" for name in CONTENT}
    values = ", ".join(
        f"if({differs[name]}, struct_pack(field := '{name}', old_value := cast({before}.{name} as varchar), "
        f"new_value := cast({after}.{name} as varchar)), null)"
        for name in CONTENT
        if name in plain
    )
    others = [name for name in CONTENT if name not in {*plain, "id"}]
    names = ", ".join(f"if({differs[name]}, '{name.removeprefix('has_')}', null)" for name in others)
    nothing = "struct_pack(field := name, old_value := cast(null as varchar), new_value := cast(null as varchar))"
    by_name = f"list_transform(list_distinct([{names}] || coalesce({personal}, [])), lambda name: {nothing})"
    return f"list_filter([{values}] || {by_name}, lambda change: change.field is not null)"


def columns_of(listed: str) -> dict[str, str]:
    """Return column → type of a list such as `id BIGINT, amount DECIMAL(38,4), seen_at TIMESTAMPTZ`."""
    found = (each.split(" ", 1) for each in re.split(r", (?![^(]*\))", listed))
    return {name: INSTANT if kind == "TIMESTAMPTZ" else kind for name, kind in found}


def _of_arrow(schema: pa.Schema) -> dict[str, str]:
    types = {arrow: kind for kind, arrow in ARROW_TYPES.items()}
    return {field.name: types[field.type] for field in schema}


_LINEAGE = columns_of("is_deleted BOOLEAN, _fetched_at TIMESTAMPTZ, _load_id VARCHAR, _payload_sha256 VARCHAR")
# which version it is, and when it was last observed
_VERSION = columns_of("version_no BIGINT, last_seen_at TIMESTAMPTZ")
_NOTES = columns_of("absences VARCHAR[], rounded BIGINT")
# What validation counted and added up, from the JSON text.
VALIDATED: dict[str, dict[str, str]] = {
    kind: {f"validated_{name}": "BIGINT" for name in COUNTS[kind]}
    | {f"validated_{name}": "DECIMAL(38,4)" for name in SUMS[kind]}
    for kind in KINDS
}
# The service no longer knows a document after this many 404s, each an hour or more after the one counted before.
DELETED_AFTER = 3
IS_DELETED = f"misses >= {DELETED_AFTER}"
OBSERVATION = columns_of(
    "kind VARCHAR, id BIGINT, seq BIGINT, observed_at TIMESTAMPTZ, source VARCHAR, verdict VARCHAR, sha256 VARCHAR, "
    "http_status BIGINT, load_id VARCHAR, reason VARCHAR, pointer VARCHAR, customer_key VARCHAR, "
    "changed_personal VARCHAR[], ms BIGINT, bytes BIGINT, tries BIGINT, "
    "earlier_tries STRUCT(http_status BIGINT, reason VARCHAR, ms BIGINT, bytes BIGINT)[], is_backfill BOOLEAN, "
    "load_started_at TIMESTAMPTZ"
)
_CHECKS = columns_of("last_checked_at TIMESTAMPTZ, last_verdict VARCHAR, misses BIGINT, last_source VARCHAR")


_STATE = _LINEAGE | _CHECKS


def _versions(kind: str) -> dict[str, str]:
    first = columns_of(f"{ENTITY[kind]} BIGINT, version_no BIGINT, first_seen_at TIMESTAMPTZ, last_seen_at TIMESTAMPTZ")
    return first | {"document": sql_type(DOCUMENTS[kind]), "_load_id": "VARCHAR"}


# Which orders a rule or a component of the settings is about.
_SCOPE = (
    "platform VARCHAR, dispatch_method VARCHAR, store_id BIGINT, status VARCHAR, first_day DATE, last_day DATE, "
    "conditions STRUCT(field VARCHAR, operator VARCHAR, value VARCHAR)[]"
)
_COMPONENT = (
    "component_no BIGINT, name VARCHAR, amount DECIMAL(18,4), share DECIMAL(9,6), base VARCHAR, "
    "price_factor DECIMAL(18,4), step DECIMAL(18,4), rounded_per VARCHAR"
)
_FORM = "rule_parameters BIGINT[], complexity BIGINT"


def _listed(text: str) -> dict[str, dict[str, str]]:
    """Return relation → column → type of a text: a line for each relation, and indented ones that go on."""
    lines = (line.partition(": ") for line in re.sub(r"\n +", " ", text.strip()).splitlines())
    return {name: columns_of(listed) for name, _, listed in lines}


# The candidate rules, for the tables of the same names in audit.
FORMULA_CANDIDATES = _listed(f"""
raw.formula_forms: rule_target VARCHAR, form_no BIGINT, form VARCHAR, form_description VARCHAR,
    line_expression VARCHAR, unit_expression VARCHAR, rest_expression VARCHAR, {_FORM}, is_found BOOLEAN
raw.formula_rules: rule_target VARCHAR, form_no BIGINT, rounding_no BIGINT, rule VARCHAR, rule_description VARCHAR,
    expression VARCHAR, {_FORM}, kept_decimals BIGINT, rounding_mode VARCHAR, rounded_per VARCHAR
raw.formula_parts: rule_target VARCHAR, part_no BIGINT, part VARCHAR, deciding_case VARCHAR, is_tested BOOLEAN,
    parameter_no BIGINT
""")
# What evidence/ gathers, for the tables of the same names in audit.
FORMULA_EVIDENCE = _listed("""
raw.formula_populations: rule_target VARCHAR, population_no BIGINT, scope VARCHAR, verdict VARCHAR, form_no BIGINT,
    rounding_no BIGINT, rule_setting_no BIGINT, is_assumable BOOLEAN, open_parts BIGINT[], candidate_forms BIGINT[],
    order_count BIGINT, fit_count BIGINT, min_fit_rate DOUBLE, candidate_count BIGINT, needed_order_count BIGINT,
    rival_form_no BIGINT, distinguishing_order_count BIGINT, distinguishing_fit_count BIGINT, deciding_cases VARCHAR[],
    residual_pattern VARCHAR, sentence VARCHAR, residual_kind VARCHAR, residual_value DECIMAL(18,6),
    residual_base VARCHAR, residual_bound DECIMAL(18,4), residual_condition VARCHAR, settlement VARCHAR
raw.formula_divisions: rule_target VARCHAR, node_no BIGINT, dimension VARCHAR, part_no BIGINT, value VARCHAR,
    is_rest BOOLEAN, child_no BIGINT
raw.formula_evidence: rule_target VARCHAR, population_no BIGINT, form_no BIGINT, part_no BIGINT, order_count BIGINT,
    fit_count BIGINT, min_fit_count BIGINT, is_leader BOOLEAN, is_refuted BOOLEAN
""")


def _latest(kind: str) -> dict[str, str]:
    customer = {"customer_key": "VARCHAR"} if kind == "orders" else {}
    document = {ENTITY[kind]: "BIGINT", "document": sql_type(DOCUMENTS[kind])}
    return document | customer | _LINEAGE | _VERSION | _NOTES | VALIDATED[kind]


RAW: dict[str, dict[str, str]] = {
    **{f"raw.latest_{kind}": _latest(kind) for kind in KINDS},
    "raw.order_versions": _versions("orders") | {"_payload_sha256": "VARCHAR"},
    **{f"raw.{ENTITIES[kind]}_versions": _versions(kind) | {"is_new": "BOOLEAN"} for kind in WHOLE_KINDS},
    "raw.order_edits": {
        **columns_of("order_id BIGINT, version_no BIGINT, lines_version_no BIGINT"),
        **dict.fromkeys(("before", "after"), sql_type(CONTENT)),
        "changes": "STRUCT(field VARCHAR, old_value VARCHAR, new_value VARCHAR)[]",
    },
    "raw.order_sightings": {"order_id": "BIGINT", **_VERSION},
    **{f"raw.{ENTITIES[kind]}_checks": {ENTITY[kind]: "BIGINT", **_CHECKS} for kind in KINDS},
    "raw.states": columns_of("kind VARCHAR, id BIGINT, customer_key VARCHAR, last_good_at TIMESTAMPTZ") | _STATE,
    **dict.fromkeys(("raw.observations", "raw.refusals"), OBSERVATION),
    **FORMULA_CANDIDATES,
    **FORMULA_EVIDENCE,
    "raw.settlement_lines": {"entry_no": "BIGINT", **_of_arrow(LINES)},
    "raw.bank_payouts": {"entry_no": "BIGINT", "platform": "VARCHAR", "file": "VARCHAR", **_of_arrow(CREDITS)},
    "raw.closed_orders": {"close_entry_no": "BIGINT", **_of_arrow(CLOSED_ORDERS)},
    "raw.restated": {"entry_no": "BIGINT", **_of_arrow(RESTATEMENTS)}
    | columns_of("posted_period VARCHAR, reversed_period VARCHAR"),
    **_listed(f"""
raw.settings: business_day_time VARCHAR, business_day_timezone VARCHAR, business_day_start INTERVAL,
    business_day_from TIMESTAMPTZ, business_day_until TIMESTAMPTZ, business_day_zone_changes VARCHAR,
    daypart_of_hour VARCHAR[], sales_counted VARCHAR[], sales_excluded VARCHAR[], menus_product_id_scope VARCHAR,
    plaintext_fields VARCHAR[], known_fields VARCHAR[], privacy_customer_key BOOLEAN, formula_total_rule VARCHAR,
    formula_subtotal_rule VARCHAR, formula_min_distinguishing_orders BIGINT, formula_max_violation_rate DOUBLE,
    finance_currency VARCHAR, finance_currency_codes MAP(VARCHAR, VARCHAR), finance_duplicate_minutes BIGINT,
    replaced_orders BIGINT[]
raw.document_notes: kind VARCHAR, load_id VARCHAR, id BIGINT, note VARCHAR
raw.service_log: operation VARCHAR, aspect VARCHAR, name VARCHAR, n BIGINT, least DOUBLE, greatest DOUBLE,
    first_at TIMESTAMPTZ, last_at TIMESTAMPTZ
raw.assumptions: no BIGINT, question VARCHAR, section VARCHAR, undocumented VARCHAR, assumption VARCHAR,
    partner_question VARCHAR
raw.zone_offsets: timezone VARCHAR, from_us BIGINT, offset_us BIGINT
raw.formula_settings: setting_no BIGINT, rule_target VARCHAR, rule VARCHAR, {_SCOPE}
raw.formula_components: {_COMPONENT}, {_SCOPE}
raw.hints: seq BIGINT, received_at TIMESTAMPTZ, topic VARCHAR, kind VARCHAR, id BIGINT
raw.product_categories: product_id BIGINT, category VARCHAR
raw.control_totals: entry_no BIGINT, imported_at TIMESTAMPTZ, business_date DATE, store_id BIGINT, order_count BIGINT,
    amount DECIMAL(38,4), amount_field VARCHAR, sale_classes VARCHAR
raw.settlement_statements: entry_no BIGINT, imported_at TIMESTAMPTZ, platform VARCHAR, order_platforms VARCHAR[],
    file VARCHAR, file_sha256 VARCHAR, timezone VARCHAR, window_minutes BIGINT, short_modulus BIGINT, due_days BIGINT,
    statement_ref VARCHAR, row_count BIGINT, currency VARCHAR, amount DECIMAL(38,4)
raw.settlement_payouts: platform VARCHAR, statement_ref VARCHAR, payout_ref VARCHAR, currency VARCHAR, paid_on DATE,
    amount DECIMAL(38,4)
raw.bank_files: entry_no BIGINT, platform VARCHAR, first_day DATE, last_day DATE
raw.verifications: verification_no BIGINT, verified_at TIMESTAMPTZ, part VARCHAR, first_order_id BIGINT,
    last_order_id BIGINT, business_date DATE, order_count BIGINT, table_count BIGINT, difference_count BIGINT,
    first_difference VARCHAR, release_id VARCHAR, duration_ms BIGINT
raw.day_closes: business_date DATE, store_id BIGINT, is_every_store BOOLEAN, close_entry_no BIGINT,
    closed_at TIMESTAMPTZ, period VARCHAR
raw.closed_rules: close_entry_no BIGINT, rule_no BIGINT, rule_target VARCHAR, rule VARCHAR, basis VARCHAR,
    open_parts BIGINT[], is_assumable BOOLEAN
raw.closed_scopes: close_entry_no BIGINT, rule_no BIGINT, condition_no BIGINT, dimension VARCHAR, part VARCHAR,
    is_other BOOLEAN, value VARCHAR, first_day DATE, last_day DATE
raw.closed_components: close_entry_no BIGINT, {_COMPONENT}, {_SCOPE}
raw.break_decisions: break_key VARCHAR, content VARCHAR, reason VARCHAR, accepted_by VARCHAR, accepted_as VARCHAR,
    accepted_at TIMESTAMPTZ, account_class VARCHAR, assignee VARCHAR, comment_count BIGINT, entry_no BIGINT
raw.findings: check_name VARCHAR, table_name VARCHAR, entity_id BIGINT, location VARCHAR, residual DECIMAL(38,4),
    detail VARCHAR
"""),
}

_OF_ALL_KINDS = ("states", "observations", "refusals", "document_notes", "service_log", "findings")
# The kinds of documents behind each input: the edges from the raw assets to the tables that read it. Inputs of no kind
# come from settings, the ledger or webhooks.
LANDED_KINDS: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(RAW, ()),
    **{f"raw.latest_{kind}": (kind,) for kind in KINDS},
    **{f"raw.{ENTITIES[kind]}_{what}": (kind,) for kind in KINDS for what in ("versions", "checks")},
    **dict.fromkeys(("raw.order_edits", "raw.order_sightings"), ("orders",)),
    **dict.fromkeys((f"raw.{name}" for name in _OF_ALL_KINDS), KINDS),
}


def nothing(columns: Mapping[str, str]) -> str:
    """Return a select without rows of these columns, given as name → type."""
    return "select " + ", ".join(f"cast(null as {kind}) as {column}" for column, kind in columns.items()) + " limit 0"


def create(con: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Make an empty table of each relation."""
    columns = {name: ", ".join(f'"{column}" {kind}' for column, kind in RAW[name].items()) for name in names}
    con.execute("; ".join(f"create or replace table {name} ({each})" for name, each in columns.items()))


def table_of(name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> pa.Table:
    """Return rows of a relation in its types: values in the order of its columns, or by their names."""
    columns = RAW[name]
    schema = pa.schema([(column, ARROW_TYPES[kind]) for column, kind in columns.items()])
    listed = [row if isinstance(row, dict) else dict(zip(columns, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(listed, schema)


def fill(con: duckdb.DuckDBPyConnection, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
    """Make the table of a relation, with these rows."""
    create(con, name)
    con.from_arrow(table_of(name, rows)).insert_into(name)


_MAY_HAVE_UNKNOWN = {"has_unknown": "BOOLEAN"}  # where it is null or absent, only the text can tell
# A file from before load_started_at was stored has the time in the ids of its loads only. Files from before
# [privacy] customer_key was turned off have the keys.
_STORED = {
    "customer_key": "if((select privacy_customer_key from raw.settings), customer_key, null)",
    "load_started_at": "coalesce(load_started_at, try_strptime(left(load_id, 21), '%Y%m%dT%H%M%S%f')::timestamptz)",
}
_OBSERVED = ", ".join(f"cast({_STORED.get(name, name)} as {kind}) as {name}" for name, kind in OBSERVATION.items())


class MissingDocumentError(Exception):
    """Raw lacks a document that an observation names: files are missing."""


def present(files: Sequence[RawFile]) -> list[Path]:
    """Return the paths of those files that exist: a load without a new document may have none."""
    return [file.path for file in files if file.path.exists()]


def by_loads(files: Sequence[RawFile], loads: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """Return the paths of files that exist: of those that hold any of these loads, and of the others."""
    wanted = set(loads)
    fresh = [file for file in files if wanted.intersection(file.load_ids)]
    return present(fresh), present([file for file in files if file not in fresh])


def rows_per_order(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> Fraction:
    """Return how many orders, lines and modifiers an order document of these files is made into, on average."""
    counts = "count(*), cast(sum(1 + lines + modifiers) as bigint)"
    row = con.execute(f"select {counts} from {_files(paths)}").fetchone() if paths else None
    return Fraction(row[1], row[0]) if row and row[0] else Fraction(1)


def create_observations_view(con: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path]) -> None:
    """Make view `name` of all observations in these files."""
    con.execute(f"create or replace view {name} as select {_OBSERVED} from {_observed(paths)}")


def create_observations(
    con: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path], loads: Iterable[str], only: str | None = None
) -> None:
    """Make table `name` of the observations of these loads in these files; `only` names a relation of (kind, id)."""
    ids = f"and exists (select 1 from {only} as o where o.kind = files.kind and o.id = files.id)" if only else ""
    con.execute("create or replace temp table wanted_loads as select unnest(?::varchar[]) as load_id", [list(loads)])
    con.execute(f"""
        create or replace table {name} as
        select {_OBSERVED} from {_observed(paths)} as files
        where load_id in (select load_id from wanted_loads) {ids}
    """)


def create_notes(con: duckdb.DuckDBPyConnection, documents: Mapping[str, Sequence[Path]], loads: Iterable[str]) -> None:
    """Make view raw.document_notes: what validation recorded of the documents of these loads in these files, by kind.

    An undocumented field is recorded as its path and types, `/items/*/foo:string`.
    """
    con.execute("create or replace temp table noted_loads as select unnest(?::varchar[]) as load_id", [list(loads)])
    selects, mine = [], "load_id in (select load_id from noted_loads)"
    for kind, paths in documents.items():
        if paths:
            selects += [
                f"select '{kind}' as kind, load_id, id, unnest(absences) as note from {_files(paths)} where {mine}",
                f"""
                select '{kind}' as kind, load_id, id, found.key || ':' || found.value as note from (
                    select load_id, id, unnest(map_entries(if(
                        contains(document, '"_unknown":'), -- in the select: among filters it may come first
                        cast(json_extract(document, '$._unknown') as map(varchar, varchar)), null
                    ))) as found
                    from {_named(paths, _MAY_HAVE_UNKNOWN)} where {mine} and has_unknown is distinct from false
                )
                """,
            ]
    notes = " union all ".join(selects) or nothing(RAW["raw.document_notes"])
    con.execute(f"create or replace view raw.document_notes as {notes}")


def create_documents(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], states: str, older: Sequence[Path] = ()
) -> None:
    """Make table raw.latest_<kind>: the typed document of each state of this kind that has one; as add_documents."""
    create(con, f"raw.latest_{kind}")
    add_documents(con, kind, paths, states, older)


def add_documents(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], states: str, older: Sequence[Path] = ()
) -> None:
    """Add to table raw.latest_<kind> the typed document of each of these states that has one.

    `paths` are looked through for all of `states`; `older`, where the rest of the documents may be, only for what was
    not in them. Raise MissingDocumentError when a document is in neither.
    """
    table = f"raw.latest_{kind}"
    wanted = f"(select * from {states} where kind = '{kind}' and sha256 is not null)"
    entity = ENTITY[kind]
    missing = _count(con, wanted)
    for each in (paths, older):
        if each and missing:
            con.execute(_type_documents(con, kind, each, wanted))
            _drop_repeats(con, table, entity)
            wanted = f"(from {wanted} as w where not exists (select 1 from {table} as t where t.{entity} = w.id))"
            missing = _count(con, wanted)
    if missing:
        row = con.execute(f"select min(id) from {wanted}").fetchone()
        raise MissingDocumentError(
            f"data/raw has no document for {missing} of the {kind} that were observed, the first is {row and row[0]}: "
            "bring its files back, or land them again"
        )


def create_earlier_documents(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], wanted: str, older: Sequence[Path] = ()
) -> None:
    """Make table raw.earlier_<kind>: the typed document of each (id, sha256) of relation `wanted`, each once.

    `paths` and `older` as in create_documents. Raise MissingDocumentError when a document is in neither.
    """
    table, columns = f"raw.earlier_{kind}", f"id bigint, sha256 varchar, document {sql_type(DOCUMENTS[kind])}"
    con.execute(f"create or replace table {table} ({columns})")
    left = f"""(
        select distinct id, sha256 from {wanted} as w
        where not exists (select 1 from {table} as t where t.id = w.id and t.sha256 = w.sha256)
    )"""
    for each in (paths, older):
        row = con.execute(f"select min(id), max(id) from {left}").fetchone()
        if each and row and row[0] is not None:
            con.execute(f"""
                insert into {table}
                select wanted.id, wanted.sha256, from_json(any_value(files.document), '{structure(DOCUMENTS[kind])}')
                from {_files(each)} as files
                inner join {left} as wanted on files.id = wanted.id and files.sha256 = wanted.sha256
                where files.id between {row[0]} and {row[1]}
                group by wanted.id, wanted.sha256 -- one of equal documents that were landed twice
            """)
    if missing := _count(con, left):
        row = con.execute(f"select min(id) from {left}").fetchone()
        raise MissingDocumentError(
            f"data/raw has no document for {missing} earlier versions of {kind}, the first of {row and row[0]}: "
            "bring its files back, or land them again"
        )


def _type_documents(con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], states: str) -> str:
    """Return the insert of the documents of `states` found in the files."""
    low, high = con.execute(f"select min(id), max(id) from {states}").fetchone() or (0, 0)
    names = ((column, column.removeprefix("validated_"), of) for column, of in VALIDATED[kind].items())
    validated = " ".join(f"cast(files.{stored} as {of}) as {column}," for column, stored, of in names)
    customer = "wanted.customer_key," if kind == "orders" else ""
    of_kind = {"kind": kind, "structure": structure(DOCUMENTS[kind]), "validated": validated, "customer": customer}
    wanted = {"files": _files(paths), "states": states, "low": str(low), "high": str(high)}
    return filled("latest_documents", is_deleted=IS_DELETED, **of_kind, **wanted)


def _drop_repeats(con: duckdb.DuckDBPyConnection, table: str, entity: str) -> None:
    """Keep one of equal documents that were landed twice, as happens when the index was rebuilt in between."""
    row = con.execute(f"select count(*) <> count(distinct {entity}) from {table}").fetchone()
    if row and row[0]:
        con.execute(f"delete from {table} where rowid not in (select min(rowid) from {table} group by {entity})")


def _observed(paths: Sequence[Path]) -> str:
    """Return a relation of observations; what a file from before a column was added does not have is null."""
    return _named(paths, OBSERVATION) if paths else f"({nothing(OBSERVATION)})"


def _named(paths: Sequence[Path], columns: Mapping[str, str]) -> str:
    """Return a relation of files by the names of their columns; of `columns`, what a file does not have is null."""
    return f"(({nothing(columns)}) union all by name (from {_files(paths, 'union_by_name = true')}))"


def _files(paths: Sequence[Path], *options: str) -> str:
    return f"read_parquet({', '.join([f'[{literals(paths)}]', *options])})"


def _count(con: duckdb.DuckDBPyConnection, relation: str) -> int:
    return count_of(con.execute(f"select count(*) from {relation}"))
