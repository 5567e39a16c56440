"""The operations, authentication and webhook topics of the interface, as parts of an OpenAPI document.

Paths are those of the settings; responses are the documented ones and, marked, the observed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.settings import Settings

TOPICS = ("stores.update", "orders.create", "orders.update", "menus.update")
_NOT_SHOWN = "Not shown by the interface; as settings assume."
_Rows = list[dict[str, Any]]


def operations(settings: Settings, behaviour: _Rows) -> dict[str, Any]:
    """Return the paths, each with its operations."""
    partner = settings.partner
    paths: dict[str, Any] = {}
    documented = {"404": "Record not found."}
    for path, method, operation in (
        (partner.order.path, "get", _read("Get order details", "orders", "Order", behaviour, documented)),
        (partner.menu.path, "get", _read("Get menu details", "menus", "Menu", behaviour, documented)),
        (partner.store.path, "get", _read("Get store details", "stores", "Store", behaviour, {})),
        (partner.list_stores.path, "get", _list(settings, behaviour)),
        (partner.authenticate.path, "post", _authenticate(settings, behaviour)),
    ):
        item = paths.setdefault(path, {})
        item[method] = operation
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


def _read(summary: str, operation: str, schema: str, behaviour: _Rows, failures: dict[str, str]) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    operation_object = {"operationId": summary.replace(" ", "_").lower(), "summary": summary}
    if not failures:
        operation_object["description"] = _NOT_SHOWN
    return operation_object | {"responses": _responses(operation, content, behaviour, failures)}


def _list(settings: Settings, behaviour: _Rows) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": {"$ref": "#/components/schemas/Store"}}
    for token in reversed(settings.partner.list_stores.items_pointer.split("/")[1:]):
        schema = {"type": "object", "properties": {token: schema}}
    content = {"content": {"application/json": {"schema": schema}}}
    return {
        "operationId": "list_all_stores",
        "summary": "List all stores",
        "description": _NOT_SHOWN,
        "responses": _responses("store list", content, behaviour, {}),
    }


def _authenticate(settings: Settings, behaviour: _Rows) -> dict[str, Any]:
    how = settings.partner.authenticate
    media = {"json": "application/json", "headers": "none"}.get(how.encoding, "application/x-www-form-urlencoded")
    body = {"type": "object", "properties": {name: {"type": "string"} for name in sorted(how.body)}}
    answer: dict[str, Any] = {"type": "string", "description": "The access token."}
    for token in reversed(how.token_pointer.split("/")[1:]):
        answer = {"type": "object", "properties": {token: answer}}
    return {
        "operationId": "authenticate_client",
        "summary": "Authenticate client",
        "description": _NOT_SHOWN,
        "security": [],
        "requestBody": {"content": {media: {"schema": body}}},
        "responses": _responses("authenticate", {"content": {"application/json": {"schema": answer}}}, behaviour, {}),
    }


def _responses(operation: str, content: dict[str, Any], behaviour: _Rows, failures: dict[str, str]) -> dict[str, Any]:
    observed = {row["name"]: row["occurrence_count"] for row in behaviour if _is(row, operation, "status")}
    responses: dict[str, Any] = {"200": {"description": "The document."} | content}
    responses |= {status: {"description": text} for status, text in failures.items()}
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
