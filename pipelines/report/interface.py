"""Show the partner's interface: its open questions, its fields, an OpenAPI 3.1 document of it; and the tables for dbt.

Questions come with assumptions, as the settings are now, and the evidence of audit.questions: for a terminal, or as a
letter. Settings that may carry a secret are shown by their keys alone. In the document, as documented and, marked
`x-observed`, as the release shows it, an enumeration, a null and an undocumented field appear because they were
observed, with counts. Reads a release: no personal value can get in, since a release holds none.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.finance.released import money_of, records, released
from pipelines.landing.shape import MENU, ORDER, ArrayField, Field, MapField, ObjectField, Shape
from pipelines.settings import DEFAULT_FILE, given_keys
from pipelines.settings.assumptions import ASSUMPTIONS, assumptions
from pipelines.warehouse.catalogue.odcs import dbt_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.finance.released import ReadLimits
    from pipelines.settings import Settings

_LEAVES: dict[str, dict[str, str]] = {
    "integer": {"type": "integer", "format": "int64"},
    "text": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "money": {"type": "number"},
    "number": {"type": "number"},
}
_OBSERVED_SET = "Values observed so far; the interface does not show the complete set."
_FIGURES = (
    *("document_count", "parent_count", "present_count", "null_document_count", "absent_document_count"),
    *("max_decimals", "min_length", "max_length"),
)
_PERSONAL = "Personal data."
_FREE = "Free text or link that may hold personal data."
_Schema = dict[str, Any]
TOPICS = ("stores.update", "orders.create", "orders.update", "menus.update")
_NOT_SHOWN = "Not shown by the interface; as settings assume."
_Rows = list[dict[str, Any]]


class Observed:
    """What a release shows of fields and values, by (kind, path)."""

    def __init__(self, profile: list[dict[str, Any]], vocabulary: list[dict[str, Any]]) -> None:
        self.fields = {(row["kind"], row["path"]): row for row in profile}
        self.values: dict[tuple[str, str], dict[str, int]] = {}
        for row in vocabulary:
            self.values.setdefault((row["kind"], row["path"]), {})[row["value"]] = row["document_count"]

    def unknown(self, kind: str, parent: str) -> list[dict[str, Any]]:
        """Return the undocumented fields of the object at `parent`."""
        return [
            row
            for (own, path), row in sorted(self.fields.items())
            if own == kind and not row["is_documented"] and path.rpartition("/")[0] == parent
        ]


def openapi(settings: Settings) -> str:
    """Return the document as JSON text; raise FinanceError before the first release."""
    with released(settings) as release:
        observed = Observed(
            records(release.con, "from audit.field_profile"),
            records(release.con, "from audit.vocabulary order by value"),
        )
        behaviour = records(release.con, "from audit.service_behaviour order by all")
        totals = records(
            release.con, "select kind, max(document_count) as document_count from audit.field_profile group by kind"
        )
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Partner Ordering Service Interface: Orders and Menus",
            "version": "1",
            "description": "As documented, and as observed: what is marked x-observed was seen in documents and "
            "answers, with counts; the interface states nothing of it. Counts are of documents as last seen.",
            "x-observed": {row["kind"]: row["document_count"] for row in totals},
        },
        "servers": [{"url": "/" if "@" in settings.partner.base_url else settings.partner.base_url}],
        "security": [{"token": []}],
        "paths": operations(settings, behaviour),
        "webhooks": topics(behaviour),
        "components": {
            "securitySchemes": {"token": security(settings)},
            "schemas": {
                "Order": _object(ORDER, "orders", "", observed),
                "Menu": _object(MENU, "menus", "", observed),
                "Store": _store(settings, observed),
            },
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def dbt(settings: Settings) -> str:
    """Return sources.yml of dbt: the tables of the current release."""
    with released(settings) as release:
        own = [each.table() for each in release.manifest.own]
        parquet = settings.data_dir / "published" / "current" / "parquet"
        return dbt_sources(str(parquet), round(settings.notify.max_age_hours), own)


def fields(settings: Settings) -> str:
    """Return a line for each field that was observed; raise FinanceError before the first release."""
    with released(settings) as release:
        found = records(release.con, "from audit.field_profile order by kind desc, path")
    lines = ["kind    field: types; in how many places; documents in which it is null or absent"]
    for row in found:
        mark = "" if row["is_documented"] else " (not documented)"
        places = "" if row["present_count"] is None else f"; {row['present_count']:,}"
        if row["parent_count"] is not None:
            places += f" of {row['parent_count']:,}"
        lines.append(
            f"{row['kind']:7} {row['path']}{mark}: {', '.join(row['types']) or 'never seen'}{places}; "
            f"null {row['null_document_count']:,}, absent {row['absent_document_count']:,} of {row['document_count']:,}"
        )
    return "\n".join(lines)


def _object(shape: Shape, kind: str, at: str, observed: Observed) -> _Schema:
    properties = {field.name: _member(field, kind, f"{at}/{field.name}", observed) for field in shape.fields}
    for row in observed.unknown(kind, at):
        properties[row["path"].rpartition("/")[2]] = _unknown(row)
    schema: _Schema = {"type": "object", "properties": properties}
    if required := [each.name for each in shape.fields if isinstance(each, Field | ObjectField) and each.required]:
        schema["required"] = required
    return schema


def _member(field: Field | ObjectField | ArrayField | MapField, kind: str, path: str, observed: Observed) -> _Schema:
    schema: _Schema
    if isinstance(field, Field):
        schema = dict(_LEAVES[field.leaf])
        if field.personal or field.free:
            schema["description"] = _PERSONAL if field.personal else _FREE
    elif isinstance(field, ObjectField):
        schema = _object(field.of, kind, path, observed)
    elif isinstance(field, ArrayField):
        schema = {"type": "array", "items": _object(field.of, kind, f"{path}/*", observed)}
    else:
        schema = {
            "type": "object",
            "propertyNames": {"pattern": "^(0|-?[1-9][0-9]*)$"},
            "additionalProperties": _object(field.of, kind, f"{path}/*", observed),
        }
    return _marked(schema, kind, path, observed)


def _marked(schema: _Schema, kind: str, path: str, observed: Observed) -> _Schema:
    """Add what was observed: a type null, an enumeration, and the counts behind both."""
    row = observed.fields.get((kind, path))
    if row is None:
        return schema
    seen: _Schema = {name: row[name] for name in _FIGURES if row[name] is not None}
    for name in ("min_value", "max_value"):
        if row[name] is not None:
            seen[name] = int(row[name]) if schema["type"] == "integer" else f"{row[name]:f}"
    for name in ("min_timestamp", "max_timestamp", "first_seen_at", "last_seen_at"):
        if row[name] is not None:
            seen[name] = row[name].isoformat()
    if row["null_document_count"]:
        schema["type"] = [schema["type"], "null"]
    if values := observed.values.get((kind, path)):
        schema["enum"] = [*values, *([None] if row["null_document_count"] else [])]
        schema["description"] = _OBSERVED_SET
        seen["values"] = values
    schema["x-observed"] = seen
    return schema


def _unknown(row: dict[str, Any]) -> _Schema:
    types = row["types"]
    schema: _Schema = {"type": types[0] if len(types) == 1 else types} if types else {}
    return schema | {
        "description": "Not documented: observed.",
        "x-observed": {"document_count": row["document_count"], "present_count": row["present_count"]},
    }


def _store(settings: Settings, observed: Observed) -> _Schema:
    """Return the store record: what settings point to, and what else was observed, in its place."""
    record = settings.partner.store
    store: _Schema = {
        "type": "object",
        "description": "The interface shows no store record: this is where settings look, and what else was observed.",
        "properties": {},
    }
    for name in ("id", "name", "timezone", "currency"):
        pointer = getattr(record, f"{name}_pointer")
        if pointer:
            leaf = _LEAVES["integer" if name == "id" else "text"]
            _put(store, pointer, _marked(dict(leaf), "stores", f"/{name}", observed))
    for pointer in record.menu_id_pointers:
        _put(store, pointer, {"type": "integer", "description": "The id of a menu of this store."})
    for (kind, path), row in sorted(observed.fields.items()):
        if kind == "stores" and not row["is_documented"]:
            _put(store, path, _unknown(row))
    return store


def _put(schema: _Schema, pointer: str, leaf: _Schema) -> None:
    """Put a schema where a pointer leads, through objects and, for *, arrays."""
    for token, below in zip(tokens := pointer.split("/")[1:], [*tokens[1:], ""], strict=True):
        name = token.replace("~1", "/").replace("~0", "~")
        if name == "*":
            held, key = schema, "items"
        else:
            held, key = schema.setdefault("properties", {}), name
        if not below:
            held[key] = leaf
            return
        schema = held.setdefault(key, {"type": "array" if below == "*" else "object"})


def operations(settings: Settings, behaviour: _Rows) -> dict[str, Any]:
    """Return the paths, each with its operations."""
    partner, how = settings.partner, settings.partner.authenticate
    media = {"json": "application/json", "headers": "none"}.get(how.encoding, "application/x-www-form-urlencoded")
    body = {"type": "object", "properties": {name: {"type": "string"} for name in sorted(how.body)}}
    token = _wrapped({"type": "string", "description": "The access token."}, how.token_pointer)
    stores = _wrapped({"type": "array", "items": _schema_of("Store")}, partner.list_stores.items_pointer)
    login = {"security": [], "requestBody": {"content": {media: {"schema": body}}}}
    documented = {"404": "Record not found."}
    paths: dict[str, Any] = {}
    for path, method, summary, observed_as, schema, failures, more in (
        (partner.order.path, "get", "Get order details", "orders", _schema_of("Order"), documented, {}),
        (partner.menu.path, "get", "Get menu details", "menus", _schema_of("Menu"), documented, {}),
        (partner.store.path, "get", "Get store details", "stores", _schema_of("Store"), {}, {}),
        (partner.list_stores.path, "get", "List all stores", "store list", stores, {}, {}),
        (how.path, "post", "Authenticate client", "authenticate", token, {}, login),
    ):
        item = paths.setdefault(path, {})
        item[method] = {
            "operationId": summary.replace(" ", "_").lower(),
            "summary": summary,
            **({} if failures else {"description": _NOT_SHOWN}),
            **more,
            "responses": _responses(observed_as, schema, behaviour, failures),
        }
        if names := [part[1:-1] for part in path.split("/") if part.startswith("{")]:
            item["parameters"] = [
                {
                    "name": name,
                    "in": "path",
                    "required": True,
                    "description": "Type and format are not shown; integers were observed.",
                    "schema": {"type": "integer", "format": "int64"},
                }
                for name in names
            ]
    return paths


def _schema_of(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _wrapped(schema: _Schema, pointer: str) -> _Schema:
    """Return the schema of an answer that has this one where a pointer leads."""
    for token in reversed(pointer.split("/")[1:]):
        schema = {"type": "object", "properties": {token: schema}}
    return schema


def security(settings: Settings) -> dict[str, Any]:
    """Return how the token is sent, as configured."""
    how = settings.partner.authenticate
    if how.header.lower() == "authorization" and how.scheme.lower() == "bearer":
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    return {"type": "apiKey", "in": "header", "name": how.header, "description": f"{how.scheme} <ACCESS_TOKEN>".strip()}


def topics(behaviour: _Rows) -> dict[str, Any]:
    """Return the webhook topics, with the number of deliveries received."""
    observed = {row["name"]: row["occurrence_count"] for row in behaviour if row["aspect"] == "deliveries"}
    return {
        topic: {
            "post": {
                "description": "Payload, headers and signing are not shown by the interface.",
                "requestBody": {"content": {"application/json": {"schema": {}}}},
                "responses": {"2XX": {"description": "Accepted."}},
                "x-observed": {"deliveries": observed.get(topic, 0)},
            }
        }
        for topic in TOPICS
    }


def _responses(operation: str, schema: _Schema, behaviour: _Rows, failures: dict[str, str]) -> dict[str, Any]:
    observed = {row["name"]: row["occurrence_count"] for row in behaviour if _is(row, operation, "status")}
    document = {"description": "The document.", "content": {"application/json": {"schema": schema}}}
    responses: dict[str, Any] = {"200": document} | {status: {"description": text} for status, text in failures.items()}
    for status, times in observed.items():
        known = responses.setdefault(status, {"description": "Observed; not shown by the interface."})
        seen: dict[str, Any] = {"answers": times}
        bodies = {
            row["name"].partition(" ")[2]: row["occurrence_count"]
            for row in behaviour
            if _is(row, operation, "error_body") and row["name"].startswith(f"{status} ")
        }
        if bodies:
            seen["bodies"] = bodies
        known["x-observed"] = seen
    return responses


def _is(row: dict[str, Any], operation: str, aspect: str) -> bool:
    return bool(row["operation"] == operation and row["aspect"] == aspect)


_LETTER = """\
# Questions about the Orders and Menus interface

Dear colleagues,

we read stores, menus and orders through your Partner Ordering Service Interface. The document leaves some things open.
Below is each of them, those first on which most orders depend, with what we assume meanwhile and what we see in
the data, so that a short answer is enough. Thank you for your help.
"""
_FOUND_BY_INIT = ("partner.base_url", "partner.authenticate.", "partner.list_stores.", "partner.store.")
_KEPT_PRIVATE = "partner.store.allowed_pointers"  # a decision, which nothing proves
_WORDS = {
    "contradicted": "the data do not all agree",
    "supported": "the data agree so far",
    "observed": "this is what we have seen so far",
    "unknown": "the data do not show",
}


def questions(settings: Settings, *, markdown: bool = False, limits: ReadLimits | None = None) -> str:
    """Return the open questions of the current release, as lines or as a Markdown letter.

    Raise FinanceError before the first release, or beyond a limit.
    """
    assumed = {each.question: text for _, each, text in assumptions(settings)}
    with released(settings, limits) as release:
        found = records(release.con, "from audit.questions order by rank")
        orders = release.con.execute("select count(*) from mart.orders").fetchone()
        proposed = release.con.execute(
            "select rule_target || '_formula', settlement from audit.formula_populations "
            "where settlement is not null order by population_no"
        ).fetchall()
    for row in found:
        row["proposed"] = [text for question, text in proposed if question == row["question"]]
        row["assumption"] = assumed.get(row["question"], row["assumption"])
    total = orders[0] if orders else 0
    return "\n".join(_letter(found, total) if markdown else _lines(found, total))


def open_answers(settings: Settings) -> list[str]:
    """Return the answers of [partner] that nobody gave, each with the command that finds it; none for the demo."""
    how = settings.partner.authenticate
    if settings.file.name == "demo.toml":
        return []
    given = given_keys(settings.file)
    found = [
        each
        for each in ASSUMPTIONS
        if each.keys and each.keys[0].startswith(_FOUND_BY_INIT) and each.keys[0] not in {*given, _KEPT_PRIVATE}
        if how.encoding != "none" or not each.keys[0].startswith("partner.authenticate")
    ]
    if not found:
        return []
    name = settings.file.name if settings.file != DEFAULT_FILE else "shop.toml"
    init = f"ordermart init {quote(name)}"
    more = {"store_record": " --order-id ID, if stores have several numbers"}
    rows = [f"  {each.keys[0]}: {each.undocumented}. `{init}`{more.get(each.question, '')}" for each in found]
    return [f"{len(found)} answers of [partner] are the defaults, which fit the sandbox; each is found by:", *rows]


def _lines(found: list[dict[str, Any]], total: int) -> Iterator[str]:
    yield f"{len(found)} things are not shown by the interface; {total:,} orders are known."
    for row in found:
        yield f"{row['rank']:3}. {row['undocumented']} (section {row['section']}): {row['evidence_status']}"
        yield f"     assumed: {row['assumption']}"
        if row["evidence"]:
            yield f"     evidence: {row['evidence']}"
        if row["affected_order_count"]:
            yield f"     depends on it: {_depends(row)}"
        if row["proposed"]:
            yield "     would settle it, if you know that it is so; in the settings:"
            yield from (f"       {line}" for text in row["proposed"] for line in text.splitlines())
    yield "As a letter to the partner: ordermart questions --markdown"


def _letter(found: list[dict[str, Any]], total: int) -> Iterator[str]:
    yield _LETTER
    yield f"So far we have seen {total:,} orders."
    for number, row in enumerate(found, 1):
        yield f"\n## {number}. {_plain(row['partner_question'])}\n"
        yield f"- Section {row['section']} of the document does not show: {_plain(row['undocumented'])}."
        yield f"- We assume meanwhile: {_plain(row['assumption'])}"
        yield f"- We see ({_WORDS[row['evidence_status']]}): {_plain(row['evidence'] or 'nothing yet')}"
        if row["affected_order_count"]:
            yield f"- It matters for {_depends(row)}."
        if row["example_ids"]:
            yield f"- Examples by id: {', '.join(map(str, row['example_ids']))}."
    yield "\nKind regards"


def _depends(row: dict[str, Any]) -> str:
    orders = f"{row['affected_order_count']:,} orders"
    return (
        orders
        if row["affected_amount"] is None
        else f"{orders}, {money_of(row['affected_amount'], row['currency'])} in total"
    )


def _plain(text: str) -> str:
    """Keep what came from the service from being read as markup."""
    return "".join("\\" + letter if letter in "\\<>*_#|" else letter for letter in text.replace("\n", " "))
