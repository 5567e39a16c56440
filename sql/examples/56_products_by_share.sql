-- What share of a store's sales has each product, in the last 28 days?
select
    store_id,
    product_id,
    max(ordered_name) as product_name,
    currency,
    sum(line_amount) as line_amount,
    sum(line_amount) / sum(sum(line_amount)) over (partition by store_id, currency)
        as share,
    rank() over (partition by store_id, currency order by sum(line_amount) desc)
        as store_rank,
from mart.product_mix
where sale_class = 'counted' and line_amount is not null
    and business_date > (select max(business_date) - 28 from mart.product_mix)
group by store_id, product_id, currency
qualify store_rank <= 10
order by store_id, currency, store_rank, product_id
