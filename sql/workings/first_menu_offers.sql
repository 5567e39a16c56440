-- One row per store, product and modifier below it: which prices its menus asked when each was first observed.
--
-- A step: read mart.price_variances instead.
-- Source: workings.menu_offers, workings.stores_with_menus, core.store_menus and core.menu_price_versions.
--
-- key: store_id, offered_product_id, offered_modifier_id, offered_from
-- span: offered_from, offered_until
--
-- store_id not null: The store, as the service numbers it.
-- offered_product_id BIGINT: The product.
-- offered_modifier_id BIGINT null: The modifier, anywhere below the product; null for the product.
-- offered_from: Null: from ever.
-- offered_until not null: When the first of the store's menus was first observed.
-- menu_id null: The menu that offered it; null if several did.

-- For orders from before any menu of the store was seen. Keyed by store, so that a menu
-- seen for the first time affects the orders of its stores alone.
with menus as (
    select menu_id, min(observed_from) as first_seen_at,
    from core.menu_price_versions
    group by menu_id
    having count(*) = count(observed_from) -- null: an archive of unknown time, before all
),
stores as (select store_id, known_until from workings.stores_with_menus where are_first_seen_later),
offers as (
    select
        stores.store_id, stores.known_until, offers.menu_id, offers.product_id, offers.modifier_id,
        offers.seen_at, offers.menu_entry_count, offers.prices, offers.delivery_prices,
    from stores
    inner join core.store_menus as store_menus using (store_id)
    inner join menus using (menu_id)
    inner join workings.menu_offers as offers using (menu_id)
    where coalesce(offers.offered_from <= menus.first_seen_at, true)
        and coalesce(offers.offered_until > menus.first_seen_at, true)
)

select
    -- keys: of other names than in orders' tables, which would be affected by them
    store_id, product_id as offered_product_id, modifier_id as offered_modifier_id,
    cast(null as timestamptz) as offered_from, any_value(known_until) as offered_until,
    -- where: of offers of several menus none is named
    if(count(distinct menu_id) = 1, any_value(menu_id), null) as menu_id,
    if(count(distinct menu_id) = 1, any_value(seen_at), null) as seen_at,
    cast(sum(menu_entry_count) as bigint) as menu_entry_count,
    list_sort(list_distinct(flatten(list(prices)))) as prices,
    list_sort(list_distinct(flatten(list(delivery_prices)))) as delivery_prices,
from offers
group by store_id, product_id, modifier_id
