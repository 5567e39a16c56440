-- One row per store and interval in which menus of it were known: none, some, or all.
with

menus as (
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
    left join menus on store_menus.menu_id = menus.menu_id
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
    -- keys
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
    -- keys
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
    -- keys
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
