-- Per store, business day and kind of match, a day is exactly its lines and modifiers.
-- severity: blocking
with

both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        kind = 'line' as is_line,
        menu_match,
        price_match,
        times,
        price,
        price_variance,
        delivery_price_variance,
    from mart.daily_price_matches

    union all

    select
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        modifier_no is null as is_line,
        menu_match,
        price_match,
        -1 as times,
        -price as price,
        -price_variance as price_variance,
        -delivery_price_variance as delivery_price_variance,
    from mart.price_variances
),

-- coalesce: what no price is stated of, or nothing compared, adds nothing on either side
differences as (
    select
        store_id,
        business_date,
        sale_class,
        is_line,
        menu_match,
        price_match,
        sum(times) as times,
        coalesce(sum(price), 0) as price,
        coalesce(sum(price_variance), 0) as price_variance,
        coalesce(sum(delivery_price_variance), 0) as delivery_price_variance,
    from both_sides
    group by
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        is_line,
        menu_match,
        price_match
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class || ', '
        || if(is_line, 'line', 'modifier') || ', ' || menu_match || ', ' || price_match as location,
    price as residual,
    times || ' too many, drifts ' || price_variance || ' and ' || delivery_price_variance
        || ' too much' as detail,
from differences
where times <> 0 or price <> 0 or price_variance <> 0 or delivery_price_variance <> 0
