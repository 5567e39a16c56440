-- Per store, business day and kind of match, a day is exactly its lines and modifiers.
-- severity: blocking
with

-- coalesce: what no price is stated of, or nothing compared, adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        kind,
        menu_match,
        price_match,
        times,
        coalesce(price, 0) as price,
        coalesce(price_drift, 0) as price_drift,
        coalesce(delivery_price_drift, 0) as delivery_price_drift,
    from mart.price_matches_daily

    union all

    select
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        if(modifier_no is null, 'line', 'modifier') as kind,
        menu_match,
        price_match,
        -1 as times,
        -coalesce(price, 0) as price,
        -coalesce(price_drift, 0) as price_drift,
        -coalesce(delivery_price_drift, 0) as delivery_price_drift,
    from mart.price_variances
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        kind,
        menu_match,
        price_match,
        sum(times) as times,
        sum(price) as price,
        sum(price_drift) as price_drift,
        sum(delivery_price_drift) as delivery_price_drift,
    from both_sides
    group by
        store_id,
        business_date,
        sale_class,
        dispatch_method,
        currency,
        kind,
        menu_match,
        price_match
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class || ', '
        || kind || ', ' || menu_match || ', ' || price_match as place,
    price as residual,
    times || ' too many, drifts ' || price_drift || ' and ' || delivery_price_drift
        || ' too much' as detail,
from differences
where times <> 0 or price <> 0 or price_drift <> 0 or delivery_price_drift <> 0
