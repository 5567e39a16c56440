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
-- menu_scope_id BIGINT: Where its offers are: the menu, the set in workings.menu_set_offers, or the store itself.
with menus as (
    select
        menu_id,
        -- an archive of unknown time counts as seen before all
        if(bool_or(observed_from is null), cast('-infinity' as timestamptz), min(observed_from)) as first_seen_at,
    from core.menu_price_versions group by menu_id
),
stores as (
    select
        store_menus.store_id, min(menus.first_seen_at) as some_from,
        if(count(*) > count(menus.menu_id), cast('infinity' as timestamptz), max(menus.first_seen_at)) as all_from,
        list(store_menus.menu_id order by store_menus.menu_id) as menu_ids,
    from core.store_menus as store_menus
    left join menus using (menu_id)
    group by store_menus.store_id
    having count(menus.menu_id) > 0
),
spans as (
    select
        store_id, menu_ids,
        if(len(menu_ids) > 1, min(store_id) over (partition by menu_ids), menu_ids[1]) as menu_scope_id,
        [
            {'stage': 'none', 'from_at': cast('-infinity' as timestamptz), 'until_at': some_from},
            {'stage': 'some', 'from_at': some_from, 'until_at': all_from},
            {'stage': 'all', 'from_at': all_from, 'until_at': cast('infinity' as timestamptz)},
        ] as stages,
    from stores
),
staged as (select store_id, menu_ids, menu_scope_id, unnest(stages, recursive := true), from spans)

select
    store_id,
    nullif(from_at, cast('-infinity' as timestamptz)) as known_from,
    nullif(until_at, cast('infinity' as timestamptz)) as known_until,
    -- which: before any menu was seen, each counts as it was when first seen
    stage = 'none' as are_first_seen_later,
    stage = 'all' as are_all_known,
    len(menu_ids) > 1 as are_several,
    if(stage = 'none', store_id, menu_scope_id) as menu_scope_id,
from staged
where from_at < until_at
