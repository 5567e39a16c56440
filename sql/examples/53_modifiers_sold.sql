-- Which modifiers were on how many lines, and for how much, in the last 28 days?
select
    modifier_id,
    max(name) as modifier_name,
    currency,
    count(distinct (order_id, line_no)) as line_count,
    sum(modifier_amount) as modifier_amount,
    count(*) filter (where modifier_amount is null) as unvalued_count,
from mart.order_line_modifiers
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.order_line_modifiers)
group by modifier_id, currency
order by line_count desc, modifier_id, currency
limit 20
