-- Each line and each modifier is counted once.
-- severity: blocking
select
    coalesce(sum(item_count), 0) as item_count,
    sum(price) as price,
from own.daily_price_matches
except
select
    count(*) as item_count,
    sum(price) as price,
from mart.price_variances
