-- No version of an order has another creation time and, besides, another store or customer than the one before: the id came back for another order, which took its place.
-- severity: warning
with changed as (
    select
        order_id, version_no,
        list(field) filter (where old_value <> new_value) as values_changed,
        list(field) filter (where new_value is null) as names_changed,
        string_agg(
            if(field in ('created_at', 'store_id'), old_value, null), ', ' order by field
        ) as before,
    from core.order_changes
    group by order_id, version_no
)

select
    order_id as entity_id,
    'version ' || version_no as location,
    'was created at, in store: ' || before as detail,
from changed
where list_contains(values_changed, 'created_at')
    and (
        list_contains(values_changed, 'store_id')
        or list_has_any(names_changed, ['user_phone', 'user_email'])
    )
