-- Ordered is settled plus open; settled, refunds and costs are the net, exactly.
-- severity: blocking
-- scope: all
select
    order_id as entity_id, platform as location,
    cast(residual as decimal(38, 4)) as residual,
from (
    select
        order_id, platform,
        unnest([
            ordered_amount - settled_amount - open_amount,
            settled_amount + settled_again_amount + refund_amount + cost_amount - net_amount,
        ]) as residual,
    from mart.order_settlements
)
where residual <> 0
