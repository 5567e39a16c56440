-- tip_shares(): one row per currency, sale class and platform: sales without tips, tips, their share of both.
-- Some totals contain the tip, others do not: a sum of tips over totals compares unlike amounts.
-- Orders without a rule for their total are counted, and in no amount.
select
    currency, sale_class, platform, count(*) as order_count,
    count(*) filter (where tip_in_total is null or total_price is null) as unknown_count,
    sum(total_price - tip_in_total) as net_of_tips,
    sum(tip) filter (where tip_in_total is not null and total_price is not null) as tips,
    tips / nullif(net_of_tips + tips, 0) as tip_share,
from mart.order_reconciliation
group by currency, sale_class, platform
