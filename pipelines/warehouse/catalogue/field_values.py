"""Generate the selects that profile every field of a kind of document, from its shape and the tables that hold it.

Knows nothing of single fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS
from pipelines.warehouse.catalogue.documents import HELD, held_fields

if TYPE_CHECKING:
    from pipelines.landing.shape import Field

# The letter says what is measured: i integer, m money, t length of a text, d microseconds of a time; of what the vault
# holds, whether it is there and not empty: h a text, g a number.
_MEASURES = {
    "integer": ("i", "facts.{}"),
    "money": ("m", "facts.{}"),
    "text": ("t", "length(facts.{})"),
    "time": ("d", "epoch_us(facts.{})"),
}
_HIDDEN = {"text": "h", "number": "g"}
_MEASURED = """{
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT'
                        then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\\0\""""
_SHOWN = """
    substr(field, 2) as path,
    case field[1] when 'i' then 'integer' when 'm' then 'number' when 'g' then 'number'
        else 'string' end as type,
    m.parent_count as parent_count,
    m.present_count as present_count,
    if(field[1] in ('t', 'h'), m.zeros, null) as empty_count,
    if(field[1] in ('i', 'm'), cast(m.max_decimals as bigint), null) as max_decimals,
    if(field[1] = 't', cast(m.min_value as bigint), null) as min_length,
    if(field[1] = 't', cast(m.max_value as bigint), null) as max_length,
    if(field[1] in ('i', 'm'), m.min_value, null) as min_value,
    if(field[1] in ('i', 'm'), m.max_value, null) as max_value,
    if(field[1] = 'd', make_timestamptz(cast(m.min_value as bigint)), null)
        as min_timestamp,
    if(field[1] = 'd', make_timestamptz(cast(m.max_value as bigint)), null)
        as max_timestamp,
    m.first_seen_at as first_seen_at,
    m.last_seen_at as last_seen_at,
    m.example_id as example_id,
"""


def daily_field_values() -> str:
    """Return the select of audit.daily_field_values."""
    return _field_values(
        "orders",
        "order_id",
        "-- One row per business day and field of the order document.",
        "mart.orders",
        "business_date",
    )


def field_values() -> str:
    """Return the select of audit.field_values: of the kinds that are not kept by day."""
    selects = [
        f"select '{kind}' as kind, *, from ({_field_values(kind, f'{ENTITIES[kind]}_id', '', f'core.{kind}', '')})"
        for kind in WHOLE_KINDS
    ]
    return "-- One row per kind of document other than orders, and field.\n" + "\nunion all\n".join(selects)


def _field_values(kind: str, entity: str, grain: str, documents: str, day: str) -> str:
    """Return the select that measures each level of the document apart, by day if it has one."""
    group = f"group by {day}" if day else "having count(*) > 0"
    day_column, by_day = (f"{day},", f"(* exclude ({day}))") if day else ("", "(*)")
    levels, measures = [], []
    for number, (path, columns) in enumerate(held_fields(kind).items()):
        held = HELD[kind][path]
        values = ",\n        ".join(_value(path, field, column) for field, column in columns.items())
        # joined where it lies: keeping the rows first takes longer than all the joins
        levels.append(f"""
fields_{number} as not materialized (
    select
        {f"documents.{day}," if day else ""}
        documents.{entity} as example_id,
        documents._fetched_at,
        {values},
    from {held.table} as facts
    inner join documents on facts.{entity} = documents.{entity}
    where {held.where}
),

measured_{number} as (
    select
        {day_column}
        {_MEASURED},
    from fields_{number}
    {group}
),
""")
        measures.append(f"""
    select {day_column} field, m, from measured_{number}
    unpivot include nulls (m for field in {by_day})
""")
    return f"""{grain}
with

documents as not materialized (
    select {day_column} {entity}, _fetched_at, from {documents}
),
{"".join(levels)}
measured as ({"    union all".join(measures)})

select
    {day_column}{_SHOWN}from measured
"""


def _value(path: str, field: Field, column: str) -> str:
    letter, value = (_HIDDEN[field.leaf], "cast(facts.{} as bigint)") if field.is_hidden else _MEASURES[field.leaf]
    return f'{value.format(column)} as "{letter}{path}/{field.name}"'
