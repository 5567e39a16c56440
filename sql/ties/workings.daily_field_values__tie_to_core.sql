-- Over all days, fields were counted in every order, line, modifier and delivery of core.
-- severity: blocking
-- scope: all
with both_sides as (
    select path, sum(parent_count) as parent_count,
    from workings.daily_field_values
    where path in ('/id', '/items/*/id', '/items/*/modifiers/*/id', '/deliveries/*/id')
    group by path
    union all
    select '/id' as path, -count(*) as parent_count from core.orders
    union all
    select '/items/*/id' as path, -count(*) as parent_count from core.order_lines
    union all
    select '/items/*/modifiers/*/id' as path, -count(*) as parent_count from core.order_line_modifiers
    union all
    select '/deliveries/*/id' as path, -count(*) as parent_count from core.order_deliveries
)

select
    cast(null as bigint) as entity_id, path as location,
    sum(parent_count) || ' more than there are' as detail,
from both_sides
group by path
having sum(parent_count) <> 0
