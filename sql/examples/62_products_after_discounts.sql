-- What remains of products' sales of 28 days after discounts, loyalty discounts aside?
select
    product_id,
    max(name) as product_name,
    currency,
    sum(line_amount) as line_amount,
    sum(discount_share) as discount_share,
    sum(line_amount) - sum(discount_share) as amount_after_discount,
    sum(discount_share) / nullif(sum(line_amount), 0) as discount_rate,
from mart.order_lines
where sale_class = 'counted' and discount_share is not null
    and business_date > (select max(business_date) - 28 from mart.order_lines)
group by product_id, currency
order by currency, line_amount desc, product_id
limit 20
