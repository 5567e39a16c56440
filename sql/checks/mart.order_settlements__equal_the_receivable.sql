-- By platform and currency, orders less what statements settle of them is the list of open items.
-- severity: blocking
-- scope: all
with sums as (
    select scopes.platform, orders.currency, orders.total_price as amount
    from mart.orders as orders
    inner join (
        select distinct platform, unnest(order_platforms) as order_platform
        from raw.settlement_statements
    ) as scopes on orders.platform = scopes.order_platform
    -- an order whose settlement is unknown is no open item, and counts on neither side
    where
        orders.sale_class = 'counted'
        and (scopes.platform, orders.order_id) not in (
            select (platform, order_id) from mart.order_settlements where open_amount is null
        )
    union all
    select platform, currency, -their_amount
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
