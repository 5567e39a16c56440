-- One row per set of statuses that may count as sales: the store-days that it ties.
--
-- gathered from: raw.control_totals, raw.settings
-- gathered from mart.orders: store_id, business_date, status, is_deleted, subtotal_price
-- gathered from mart.orders: delivery_price, tip, discount, loyalty_discount, total_price
select
    -- keys
    statuses,
    -- the verdict
    is_configured,
    verdict,
    reason,
    -- store-days
    store_day_count,
    tied_store_day_count,
    distinguishing_day_count,
    distinguishing_tied_count,
from raw.sales_sets
