-- Which rates of commission do statements show, and how many lines differ from them?
select
    platform,
    store_id,
    from_date,
    to_date,
    base,
    rate,
    currency,
    agreeing_count,
    exception_count,
from mart.settlement_rates
order by platform, store_id, currency, from_date
