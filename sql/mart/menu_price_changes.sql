-- One row per menu, product, channel and time at which another price was observed.
with

-- a product priced twice in a channel, at different prices, has no single price
ended as (
    select
        menu_id,
        product_id,
        channel,
        change_seen_at as changed_at,
        any_value(price) as price,
        any_value(delivery_price) as delivery_price,
    from core.menu_price_versions
    where change_seen_at is not null and product_id is not null
    group by menu_id, product_id, channel, change_seen_at
    having count(distinct (price, delivery_price)) = 1
),

started as (
    select
        menu_id,
        product_id,
        channel,
        observed_from as changed_at,
        any_value(price) as price,
        any_value(delivery_price) as delivery_price,
    from core.menu_price_versions
    where observed_from is not null and product_id is not null
    group by menu_id, product_id, channel, observed_from
    having count(distinct (price, delivery_price)) = 1
),

changes as (
    select
        ended.menu_id,
        ended.product_id,
        ended.channel,
        ended.changed_at,
        cast(make_timestamp(epoch_us(ended.changed_at)) as date) as changed_date,
        ended.price as previous_price,
        started.price,
        ended.delivery_price as previous_delivery_price,
        started.delivery_price,
    from ended
    inner join started
        on ended.menu_id = started.menu_id
        and ended.product_id = started.product_id
        and ended.channel is not distinct from started.channel
        and ended.changed_at = started.changed_at
    where
        ended.price is distinct from started.price
        or ended.delivery_price is distinct from started.delivery_price
),

-- of the stores that have the menu now
sales as (
    select
        store_menus.menu_id,
        mix.product_id,
        mix.business_date,
        sum(mix.unit_count) as unit_count,
    from mart.product_mix as mix
    inner join core.store_menus as store_menus on mix.store_id = store_menus.store_id
    where mix.sale_class = 'counted' and mix.business_date is not null
    group by store_menus.menu_id, mix.product_id, mix.business_date
),

spans as (
    select
        menu_id,
        min(business_date) as first_date,
        max(business_date) as last_date,
    from sales
    group by menu_id
),

counted as (
    select
        changes.*,
        -- greatest: a change before the first or after the last day of sales
        greatest(
            least(28, coalesce(changes.changed_date - spans.first_date, 0)), 0
        ) as day_count_before,
        greatest(
            least(28, coalesce(spans.last_date - changes.changed_date, 0)), 0
        ) as day_count_after,
        coalesce(
            (
                select sum(sales.unit_count)
                from sales
                where
                    sales.menu_id = changes.menu_id
                    and sales.product_id = changes.product_id
                    and sales.business_date < changes.changed_date
                    and sales.business_date >= changes.changed_date - 28
            ), 0
        ) as unit_count_before,
        coalesce(
            (
                select sum(sales.unit_count)
                from sales
                where
                    sales.menu_id = changes.menu_id
                    and sales.product_id = changes.product_id
                    and sales.business_date > changes.changed_date
                    and sales.business_date <= changes.changed_date + 28
            ), 0
        ) as unit_count_after,
    from changes
    left join spans on changes.menu_id = spans.menu_id
)

select
    -- keys
    menu_id,
    product_id,
    channel,
    changed_at,
    -- money
    previous_price,
    price,
    previous_delivery_price,
    delivery_price,
    -- units sold, the day of the change left out
    day_count_before,
    cast(unit_count_before as decimal(38, 0)) as unit_count_before,
    divided(unit_count_before, day_count_before) as units_per_day_before,
    day_count_after,
    cast(unit_count_after as decimal(38, 0)) as unit_count_after,
    divided(unit_count_after, day_count_after) as units_per_day_after,
from counted
