-- One row per store and interval in which menus of it were known: first none, then some of them, then all.
--
-- A step: read mart.price_variances instead.
-- Source: core.store_menus and core.menu_price_versions.
-- Caveats: menus are those that the store's record names now. One without a price counts as never observed.
--
-- key: store_id, known_from
-- span: known_from, known_until
--
-- store_id not null: The store, as the service numbers it.
-- known_from TIMESTAMPTZ null: When the first of its menus was first observed, or the last of them; null before the first, and for an archive of unknown time.
-- known_until TIMESTAMPTZ null: When the next of them was first observed; null in the last row.
-- are_first_seen_later BOOLEAN: Whether none had been observed yet, so that each is taken as first observed.
-- are_all_known BOOLEAN: Whether every menu that its record names had been observed by then.
-- are_several BOOLEAN: Whether its record names several menus.
-- menu_scope_id BIGINT: Where its offers are: the menu, the set in audit.menu_set_offers, or the store itself.
with menus as (
    select
        menu_id,
        -- an archive of unknown time counts as seen before all
        if(
            bool_or(observed_from is null),
            cast('-infinity' as timestamptz),
            min(observed_from)
        ) as first_seen_at,
    from core.menu_price_versions
    group by menu_id
),

stores as (
    select
        store_menus.store_id,
        min(menus.first_seen_at) as some_from,
        max(menus.first_seen_at) as all_from,
        count(*) > count(menus.menu_id) as lacks_a_menu,
        list(store_menus.menu_id order by store_menus.menu_id) as menu_ids,
    from core.store_menus as store_menus
    left join menus using (menu_id)
    group by store_menus.store_id
    having count(menus.menu_id) > 0
),

numbered as (
    select
        *,
        len(menu_ids) > 1 as are_several,
        if(
            are_several,
            min(store_id) over (partition by menu_ids),
            menu_ids[1]
        ) as menu_scope_id,
    from stores
)

-- before any menu was seen, each counts as it was when first seen
select
    store_id,
    cast(null as timestamptz) as known_from,
    some_from as known_until,
    -- which
    true as are_first_seen_later,
    false as are_all_known,
    are_several,
    store_id as menu_scope_id,
from numbered
where some_from > cast('-infinity' as timestamptz)

union all

select
    store_id,
    nullif(some_from, cast('-infinity' as timestamptz)) as known_from,
    if(lacks_a_menu, null, all_from) as known_until,
    -- which
    false as are_first_seen_later,
    false as are_all_known,
    are_several,
    menu_scope_id,
from numbered
where lacks_a_menu or some_from < all_from

union all

select
    store_id,
    nullif(all_from, cast('-infinity' as timestamptz)) as known_from,
    null as known_until,
    -- which
    false as are_first_seen_later,
    true as are_all_known,
    are_several,
    menu_scope_id,
from numbered
where not lacks_a_menu
