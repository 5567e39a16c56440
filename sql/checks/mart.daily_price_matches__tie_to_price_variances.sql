-- Daily price matches equal the lines and modifiers in mart.price_variances.
-- severity: blocking
with

both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        item_type = 'line' as is_line,
        menu_match,
        price_match,
        item_count,
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
        -1 as item_count,
        -price as price,
        -price_variance as price_variance,
        -delivery_price_variance as delivery_price_variance,
    from mart.price_variances
),

-- coalesce: rows without a price, or not compared, add nothing on either side
differences as (
    select
        store_id,
        business_date,
        sale_class,
        is_line,
        menu_match,
        price_match,
        sum(item_count) as item_count,
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
    item_count || ' items, variances of ' || price_variance || ' and '
        || delivery_price_variance || ' too many' as detail,
from differences
where item_count <> 0 or price <> 0 or price_variance <> 0 or delivery_price_variance <> 0
