-- One row per store of which a menu was observed: since when.
select
    -- keys
    store_menus.store_id,
    -- since when; an archive of unknown time counts as seen before all
    if(
        bool_or(menus.observed_from is null),
        null,
        min(menus.observed_from)
    ) as known_from,
from core.store_menus as store_menus
inner join core.menu_price_versions as menus
    on store_menus.menu_id = menus.menu_id
group by store_menus.store_id
