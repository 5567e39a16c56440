-- One row per set of menus, product, modifier below it and interval: which prices they were seen to ask together.
--
-- A step: read mart.price_variances instead.
-- Source: audit.menu_offers, audit.stores_with_menus and core.store_menus. Of sets of several menus.
--
-- key: menu_set_no, product_id, modifier_id, offered_from
-- span: offered_from, offered_until
--
-- menu_set_no BIGINT: The set: the least store_id of the stores whose records name these menus.
-- product_id not null: The product, as the service numbers it.
-- modifier_id: The modifier, anywhere below the product; null for the product itself.
-- menu_id null: The menu that offered it; null if several did.

-- Of sets of several menus that stores have. A set has the number of the first of its stores.
with sets as (
    select distinct menu_scope_id as menu_set_no
    from audit.stores_with_menus
    where are_several
),

spans as (
    select
        sets.menu_set_no, offers.menu_id, offers.product_id, offers.modifier_id,
        coalesce(offers.offered_from, cast('-infinity' as timestamptz)) as from_at,
        coalesce(offers.offered_until, cast('infinity' as timestamptz)) as until_at,
        offers.seen_at, offers.menu_entry_count, offers.prices, offers.delivery_prices,
    from sets
    inner join core.store_menus as store_menus on sets.menu_set_no = store_menus.store_id
    inner join audit.menu_offers as offers using (menu_id)
),

bounds as (
    select menu_set_no, product_id, modifier_id, from_at as at_time from spans
    union
    select menu_set_no, product_id, modifier_id, until_at as at_time from spans
),

intervals as (
    select
        menu_set_no, product_id, modifier_id,
        at_time as from_at,
        lead(at_time) over (
            partition by menu_set_no, product_id, modifier_id order by at_time
        ) as until_at,
    from bounds
)

select
    intervals.menu_set_no,
    intervals.product_id,
    intervals.modifier_id,
    nullif(intervals.from_at, cast('-infinity' as timestamptz)) as offered_from,
    nullif(intervals.until_at, cast('infinity' as timestamptz)) as offered_until,
    -- where: of offers of several menus none is named
    if(count(distinct spans.menu_id) = 1, any_value(spans.menu_id), null) as menu_id,
    if(count(distinct spans.menu_id) = 1, any_value(spans.seen_at), null) as seen_at,
    cast(sum(spans.menu_entry_count) as bigint) as menu_entry_count,
    -- money
    list_sort(list_distinct(flatten(list(spans.prices)))) as prices,
    list_sort(list_distinct(flatten(list(spans.delivery_prices)))) as delivery_prices,
from intervals
inner join spans
    on intervals.menu_set_no = spans.menu_set_no
    and intervals.product_id = spans.product_id
    and intervals.modifier_id is not distinct from spans.modifier_id
    and spans.from_at <= intervals.from_at
    and spans.until_at >= intervals.until_at
group by
    intervals.menu_set_no, intervals.product_id, intervals.modifier_id,
    intervals.from_at, intervals.until_at
