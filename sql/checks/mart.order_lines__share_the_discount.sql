-- The discount shares of an order's lines add up to its discount, all of them or none given.
-- severity: blocking
with shares as (
    select
        order_id, count(*) as line_count, count(discount_share) as share_count,
        sum(discount_share) as discount_share,
    from mart.order_lines group by order_id
)

select
    shares.order_id as entity_id, 'discount' as location,
    shares.discount_share - orders.discount as residual,
    shares.share_count || ' of ' || shares.line_count || ' lines' as detail,
from shares
inner join mart.orders as orders using (order_id)
where
    shares.share_count not in (0, shares.line_count)
    or shares.discount_share <> orders.discount
    or (shares.share_count > 0 and orders.discount is null)
