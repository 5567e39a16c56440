-- menu_prices_as_of(ts): one row per menu price observed by then, as last observed.
-- Observation time, not effective time. Unknown observation times count as earliest.
select
    menu_id, group_no, price_no, price_id, product_id, channel, price, delivery_price, observed_from,
    observed_to, _load_id,
from core.menu_price_versions
where
    (observed_from is null or observed_from <= cast(ts as timestamp with time zone))
    and (is_current or change_seen_at > cast(ts as timestamp with time zone))
