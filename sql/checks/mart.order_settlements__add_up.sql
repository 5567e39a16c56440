-- Ordered is settled plus open; settled, refunds and costs are the net, exactly.
-- severity: blocking
-- scope: all
select
    order_id as entity_id,
    platform as location,
    cast(
        coalesce(nullif(ordered_amount - settled_amount - open_amount, 0), 0)
        + coalesce(
            nullif(
                settled_amount + settled_again_amount + refund_amount + cost_amount
                - net_amount,
                0
            ),
            0
        ) as decimal(38, 4)
    ) as residual,
from mart.order_settlements
where
    ordered_amount - settled_amount <> open_amount
    or settled_amount + settled_again_amount + refund_amount + cost_amount <> net_amount
