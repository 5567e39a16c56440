"""How landed documents are typed: each field of the shape by its name, money exact out of JSON strings.

A field that a document lacks is null.
"""

from __future__ import annotations

import json
from typing import Any

from pipelines.landing.shape import ORDER, SHAPES, STORE, ArrayField, Field, MapField, Shape
from pipelines.settings.kinds import ENTITIES
from pipelines.warehouse.catalogue.generated_selects import HELD, held_fields

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
            found[field.name] = (
                [below] if isinstance(field, ArrayField) else {"*": below} if isinstance(field, MapField) else below
            )
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
    names = ", ".join(
        f"if({differs[name]}, '{name.removeprefix('has_')}', null)" for name in CONTENT if name not in {*plain, "id"}
    )
    by_name = (
        f"list_transform(list_distinct([{names}] || coalesce({personal}, [])), lambda name: "
        "struct_pack(field := name, old_value := cast(null as varchar), new_value := cast(null as varchar)))"
    )
    return f"list_filter([{values}] || {by_name}, lambda change: change.field is not null)"
