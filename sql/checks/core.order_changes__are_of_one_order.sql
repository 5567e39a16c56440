-- No version of an order has another creation time and, besides, another store or customer than the one before: the id came back for another order. The first one is held in its place until [closing] replaced_orders names the id.
-- severity: warning
with changed as (
    select
        order_id, version_no,
        list({'field': field, 'old_value': old_value, 'new_value': new_value} order by field) as changes,
    from core.order_changes group by order_id, version_no
)

select
    order_id as entity_id,
    'version ' || version_no as location,
    'was created at, in store: ' || array_to_string(
        [c.old_value for c in changes if c.field in ('created_at', 'store_id')], ', '
    ) as detail,
from changed
cross join raw.settings as settings
where is_another_order(changes) and not list_contains(settings.replaced_orders, order_id)
