-- One row per business day, open question about orders, whether they support the assumption, and currency.
--
-- A step: read audit.questions instead.
-- Source: mart.orders and mart.order_reconciliation: what audit.questions adds up, kept by day.
-- Caveats: an order is counted under every question that it can answer; do not add questions up.
--
-- key: business_date, question, is_against, currency
-- scope: day
--
-- question ENUM('business_day', 'currency', 'decimals', 'deleted', 'nulls', 'sales', 'subtotal_formula', 'timezone', 'total_formula')
-- is_against BOOLEAN: Whether the orders are cases against what is assumed, or cases that depend on it.
-- total_price DECIMAL(38,4): Sum of total_price over the orders that state it; null if none does.
-- example_ids: The three lowest order ids.
with judged as (
    select
        orders.business_date, orders.currency, orders.order_id, orders.total_price,
        orders.sale_class = 'unmapped' as sales,
        orders.timezone_source = 'setting' as timezone,
        orders.is_deleted as deleted,
        -- the same day, whichever of the times decides
        cast(orders.created_at_local as date)
        <> cast(coalesce(orders.requested_time_local, orders.promised_delivery_time_local) as date) as business_day,
        -- without a rule in force they depend on the answer, too
        money.total_rule is null or money.total_residual <> 0 as total_formula,
        money.subtotal_rule is null or money.subtotal_residual <> 0 as subtotal_formula,
        len(money.missing_parts) > 0 as nulls,
        -- more than the two decimals that most currencies have
        orders.total_price % 0.01 <> 0
        or orders.subtotal_price % 0.01 <> 0
        or orders.tip % 0.01 <> 0
        or orders.discount % 0.01 <> 0
        or orders.loyalty_discount % 0.01 <> 0
        or orders.delivery_price % 0.01 <> 0 as decimals,
    from mart.orders as orders inner join mart.order_reconciliation as money using (order_id)
),
-- most orders of a day give the same answers: they are separated after they are counted
alike as (
    select
        * exclude (order_id, total_price),
        count(*) as order_count, sum(total_price) as total_price,
        min(order_id, 3) as example_ids,
    from judged group by all
),
answers as (
    select
        business_date, currency, order_count, total_price, example_ids,
        unnest([
            {'question': 'sales', 'against': sales},
            {'question': 'currency', 'against': currency is null},
            {'question': 'timezone', 'against': timezone},
            {'question': 'deleted', 'against': deleted},
            {'question': 'business_day', 'against': business_day},
            {'question': 'total_formula', 'against': total_formula},
            {'question': 'subtotal_formula', 'against': subtotal_formula},
            {'question': 'nulls', 'against': nulls},
            {'question': 'decimals', 'against': decimals},
        ], recursive := true),
    from alike
)

select
    business_date, question, against as is_against, currency,
    cast(sum(order_count) as bigint) as order_count,
    sum(total_price) as total_price,
    list_sort(flatten(list(example_ids)))[:3] as example_ids,
from answers
where against is not null
group by business_date, question, against, currency
