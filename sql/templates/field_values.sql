-- A field is a column, named by a letter and its path: i integer, m money, t length of a text,
-- d microseconds of a time; h and g tell whether a text or number of the vault is not empty.
with documents as not materialized (
    select $by $entity, _fetched_at, from $documents
),
$levels
measured as (
    $measures
)

select
    $first
    substr(field, 2) as path,
    case field[1] when 'i' then 'integer' when 'm' then 'number' when 'g' then 'number'
        else 'string' end as type,
    m.parent_count as parent_count, m.present_count as present_count,
    if(field[1] in ('t', 'h'), m.zeros, null) as empty_count,
    if(field[1] in ('i', 'm'), cast(m.max_decimals as bigint), null) as max_decimals,
    if(field[1] = 't', cast(m.min_value as bigint), null) as min_length,
    if(field[1] = 't', cast(m.max_value as bigint), null) as max_length,
    if(field[1] in ('i', 'm'), m.min_value, null) as min_value,
    if(field[1] in ('i', 'm'), m.max_value, null) as max_value,
    if(field[1] = 'd', make_timestamptz(cast(m.min_value as bigint)), null) as min_timestamp,
    if(field[1] = 'd', make_timestamptz(cast(m.max_value as bigint)), null) as max_timestamp,
    m.first_seen_at as first_seen_at, m.last_seen_at as last_seen_at, m.example_id as example_id,
from measured
