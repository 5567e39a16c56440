-- One row per menu, product, channel and time at which another price was observed.
--
-- Caveats: the time is that of observation, not of when the price took effect, and the day of the change is that of
-- UTC. A product that a channel has at several prices at once has no row, nor has one that was removed and is back at
-- another price. Units are of every channel, and of stores that have the menu now: do not add menus that share a store.
-- The last day of sales may be going on. Other things than the price may have changed as well.
--
-- key: menu_id, product_id, channel, changed_at
--
-- changed_at TIMESTAMPTZ: When the menu with the new price was first observed.
-- previous_price DECIMAL(18,4) null: The price before.
-- price DECIMAL(18,4) null: The price from then on.
-- previous_delivery_price DECIMAL(18,4) null: The price when delivered, before.
-- delivery_price DECIMAL(18,4) null: The price when delivered, from then on.
-- day_count_before BIGINT >= 0 <= 28: Days of sales before the day of the change, after the change before; at most 28.
-- unit_count_before DECIMAL(38,0): Counted units in those days; an unstated quantity adds none.
-- units_per_day_before DOUBLE null not additive: Units by those days; null without days.
-- day_count_after BIGINT >= 0 <= 28: Days of sales after the day of the change, before the next one; at most 28.
-- unit_count_after DECIMAL(38,0): Counted units in those days; an unstated quantity adds none.
-- units_per_day_after DOUBLE null not additive: Units by those days; null without days.

-- the prices that a version of a menu starts and ends with
with seen as (
    select
        menu_id, product_id, channel, price, delivery_price,
        unnest([
            {'changed_at': observed_from, 'is_start': true},
            {'changed_at': change_seen_at, 'is_start': false},
        ], recursive := true),
    from core.menu_price_versions
    where product_id is not null
),

changes as (
    select
        menu_id, product_id, channel, changed_at,
        cast(make_timestamp(epoch_us(changed_at)) as date) as changed_date,
        any_value(price) filter (where not is_start) as previous_price,
        any_value(price) filter (where is_start) as price,
        any_value(delivery_price) filter (where not is_start) as previous_delivery_price,
        any_value(delivery_price) filter (where is_start) as delivery_price,
    from seen
    where changed_at is not null
    group by menu_id, product_id, channel, changed_at
    -- a product priced twice in a channel, at different prices, has no single price
    having
        count(distinct (price, delivery_price)) filter (where is_start) = 1
        and count(distinct (price, delivery_price)) filter (where not is_start) = 1
        and count(distinct (price, delivery_price)) = 2
),

-- of the stores that have the menu now
sales as (
    select
        store_menus.menu_id, mix.product_id, mix.business_date,
        sum(mix.unit_count) as unit_count,
    from mart.product_mix as mix
    inner join core.store_menus as store_menus using (store_id)
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

-- days compared: up to the day of another change of the same price
bounds as (
    select
        changes.*,
        greatest(
            changes.changed_date - 28,
            lag(changes.changed_date) over of_price + 1,
            coalesce(spans.first_date, changes.changed_date)
        ) as from_date,
        least(
            changes.changed_date + 28,
            lead(changes.changed_date) over of_price - 1,
            coalesce(spans.last_date, changes.changed_date)
        ) as to_date,
    from changes
    left join spans using (menu_id)
    window of_price as (
        partition by changes.menu_id, changes.product_id, changes.channel
        order by changes.changed_at
    )
),

counted as (
    select
        bounds.*,
        -- none before the first day of sales or after the last, or between two changes
        greatest(changed_date - from_date, 0) as day_count_before,
        greatest(to_date - changed_date, 0) as day_count_after,
        coalesce(
            (
                select sum(sales.unit_count)
                from sales
                where
                    sales.menu_id = bounds.menu_id
                    and sales.product_id = bounds.product_id
                    and sales.business_date < bounds.changed_date
                    and sales.business_date >= bounds.from_date
            ), 0
        ) as unit_count_before,
        coalesce(
            (
                select sum(sales.unit_count)
                from sales
                where
                    sales.menu_id = bounds.menu_id
                    and sales.product_id = bounds.product_id
                    and sales.business_date > bounds.changed_date
                    and sales.business_date <= bounds.to_date
            ), 0
        ) as unit_count_after,
    from bounds
)

select
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
    unit_count_before / nullif(day_count_before, 0) as units_per_day_before,
    day_count_after,
    cast(unit_count_after as decimal(38, 0)) as unit_count_after,
    unit_count_after / nullif(day_count_after, 0) as units_per_day_after,
from counted
