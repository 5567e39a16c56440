-- One row per set of statuses that may count as sales: the store-days that it ties.
--
-- gathered from: mart.orders, raw.control_totals, raw.settings
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
