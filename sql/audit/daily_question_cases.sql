-- One row per business day, open question, and whether orders bear out what is assumed.
with

judged as (
    select
        orders.business_date,
        orders.order_id,
        orders.total_price,
        orders.currency,
        unnest([
            {'question': 'sales', 'against': orders.sale_class = 'unmapped'},
            {'question': 'currency', 'against': orders.currency is null},
            {'question': 'timezone', 'against': orders.timezone_source = 'setting'},
            {'question': 'deleted', 'against': orders.is_gone},
            -- the same day, whichever of the times decides
            {
                'question': 'business_day',
                'against': cast(orders.created_at_local as date)
                <> cast(coalesce(
                    orders.requested_time_local,
                    orders.promised_delivery_time_local
                ) as date),
            },
            {
                'question': 'total_formula',
                'against': money.total_residual <> 0,
            },
            {
                'question': 'subtotal_formula',
                'against': money.subtotal_residual <> 0,
            },
            {'question': 'nulls', 'against': len(money.missing_parts) > 0},
            -- more than the two decimals that most currencies have
            {
                'question': 'decimals',
                'against': orders.total_price % 0.01 <> 0
                or orders.subtotal_price % 0.01 <> 0
                or orders.tip % 0.01 <> 0
                or orders.discount % 0.01 <> 0
                or orders.loyalty_discount % 0.01 <> 0
                or orders.delivery_price % 0.01 <> 0,
            },
        ], recursive := true),
    from mart.orders as orders
    inner join mart.order_reconciliation as money on orders.order_id = money.order_id
)

select
    -- keys
    business_date,
    question,
    against as is_against,
    currency,
    -- how much
    count(*) as orders,
    sum(total_price) as total_price,
    list_sort(min(order_id, 3)) as example_ids,
from judged
where against is not null
group by business_date, question, against, currency
