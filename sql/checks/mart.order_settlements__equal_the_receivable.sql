-- By platform and currency, orders less what statements settle of them is the list of open items.
-- severity: blocking
-- scope: all
with scopes as (
    select distinct platform, unnest(order_platforms) as order_platform
    from raw.settlement_statements
),

-- an order whose settlement is unknown is no open item, and counts on neither side
unknown_orders as (
    select platform, order_id from mart.order_settlements where open_amount is null
),

sums as (
    select
        scopes.platform, orders.currency, orders.total_price as amount,
    from mart.orders as orders
    inner join scopes on orders.platform = scopes.order_platform
    anti join unknown_orders
        on scopes.platform = unknown_orders.platform
        and orders.order_id = unknown_orders.order_id
    where orders.sale_class = 'counted'
    union all
    select
        platform, currency, -their_amount,
    from mart.settlement_matches
    where
        match_state in ('matched', 'group')
        and statement_kind in ('order', 'total')
        and our_amount is not null
    union all
    select platform, currency, -open_amount from mart.order_settlements
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', platform, currency) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from sums
group by platform, currency
having sum(amount) <> 0
