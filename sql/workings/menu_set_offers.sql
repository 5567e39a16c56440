-- One row per set of menus, product, modifier below it and interval: which prices they were seen to ask together.
--
-- A step: read mart.price_variances instead.
-- Source: workings.menu_offers, workings.stores_with_menus and core.store_menus. Of sets of several menus.
--
-- key: menu_set_no, product_id, modifier_id, offered_from
-- span: offered_from, offered_until
-- template: offers with menu_id
--
-- menu_set_no BIGINT: The set: the least store_id of the stores whose records name these menus.
-- product_id not null: The product, as the service numbers it.
-- modifier_id: The modifier, anywhere below the product; null for the product itself.
-- menu_id null: The menu that offered it; null if several did.

-- Of sets of several menus that stores have. A set has the number of the first of its stores.
with sets as (select distinct menu_scope_id as menu_set_no from workings.stores_with_menus where are_several)

select
    sets.menu_set_no, offers.menu_id, offers.product_id, offers.modifier_id,
    coalesce(offers.offered_from, cast('-infinity' as timestamptz)) as from_at,
    coalesce(offers.offered_until, cast('infinity' as timestamptz)) as until_at,
    offers.seen_at, offers.menu_entry_count, offers.prices, offers.delivery_prices,
from sets
inner join core.store_menus as store_menus on sets.menu_set_no = store_menus.store_id
inner join workings.menu_offers as offers using (menu_id)
