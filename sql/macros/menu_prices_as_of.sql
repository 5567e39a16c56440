-- menu_prices_as_of(ts): one row per price of the menus that had been observed by then, as last observed at that time.
-- It says what we had seen, not what was in effect. What was observed at an unknown time counts as seen before all.
select
    menu_id,
    group_no,
    price_no,
    price_id,
    product_id,
    channel,
    price,
    delivery_price,
    observed_from,
    observed_to,
    _load_id,
from core.menu_price_versions
where
    (observed_from is null or observed_from <= cast(ts as timestamp with time zone))
    and (is_current or change_seen_at > cast(ts as timestamp with time zone))
