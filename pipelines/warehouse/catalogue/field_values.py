"""Generate the selects that profile every field of a kind of document, from its shape and the tables that hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS
from pipelines.warehouse.catalogue.documents import HELD, held_fields
from pipelines.warehouse.catalogue.templates import filled

if TYPE_CHECKING:
    from pipelines.landing.shape import Field

# The letter names the measure: i integer, m money, t length of a text, d microseconds of a time; of what the vault
# holds, whether it is there and not empty: h a text, g a number.
_MEASURES = {
    "integer": ("i", "facts.{}"),
    "money": ("m", "facts.{}"),
    "text": ("t", "length(facts.{})"),
    "time": ("d", "epoch_us(facts.{})"),
}
_HIDDEN = {"text": "h", "number": "g"}


def daily_field_values() -> str:
    """Return the select of audit.daily_field_values."""
    return _field_values("orders", "order_id", "business_date,", "mart.orders", "business_date")


def field_values() -> str:
    """Return the select of audit.field_values: of the kinds that are not kept by day."""
    selects = (
        _field_values(kind, f"{ENTITIES[kind]}_id", f"'{kind}' as kind,", f"core.{kind}") for kind in WHOLE_KINDS
    )
    return "\nunion all\n".join(f"({select})" for select in selects)


def _field_values(kind: str, entity: str, first: str, documents: str, day: str = "") -> str:
    """Return the select that measures each level of the document apart, by day if it has one; `first`: its key's."""
    by, but = (f"{day},", f"(* exclude ({day}))") if day else ("", "(*)")
    levels, measures = [], []
    for number, (path, columns) in enumerate(held_fields(kind).items()):
        held = HELD[kind][path]
        levels.append(
            filled(
                "field_values_of_level",
                number=str(number),
                by=by,
                documents_by=f"documents.{by}" if day else "",
                entity=entity,
                values=",\n        ".join(_value(path, field, column) for field, column in columns.items()),
                table=held.table,
                where=held.where,
                group=f"group by {day}" if day else "having count(*) > 0",
            )
        )
        measures.append(f"select {by} field, m, from measured_{number} unpivot include nulls (m for field in {but})")
    return filled(
        "field_values",
        first=first,
        by=by,
        entity=entity,
        documents=documents,
        levels="".join(levels),
        measures="\n    union all\n    ".join(measures),
    )


def _value(path: str, field: Field, column: str) -> str:
    letter, value = (_HIDDEN[field.leaf], "cast(facts.{} as bigint)") if field.is_hidden else _MEASURES[field.leaf]
    return f'{value.format(column)} as "{letter}{path}/{field.name}"'
