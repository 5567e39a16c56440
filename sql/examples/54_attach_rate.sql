-- On which share of a product's lines is a modifier chosen?
select
    product_id,
    product_name,
    modifier_id,
    modifier_name,
    action,
    currency,
    attached_line_count,
    line_count,
    attach_rate,
    unique_attach_rate,
    ambiguous_attach_rate,
    unmatched_attach_rate,
    modifier_amount,
from mart.modifier_attach_rates
where sale_class = 'counted'
order by
    attached_line_count desc,
    product_id,
    product_name,
    modifier_id,
    modifier_name,
    action,
    currency
limit 20
