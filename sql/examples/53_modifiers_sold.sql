-- Which modifiers were sold how often, and for how much, in the last 28 days?
select
    modifier_id,
    max(name) as modifier_name,
    currency,
    count(*) as modifier_count,
    sum(modifier_amount) as modifier_amount,
    count(*) filter (where modifier_amount is null) as unvalued_count,
from mart.order_line_modifiers
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.order_line_modifiers)
group by modifier_id, currency
order by modifier_count desc, modifier_id, currency
limit 20
