-- How much does each region and legal entity sell, by your own list of stores?
select
    stores.legal_entity,
    stores.region,
    sales.currency,
    sum(sales.order_count) as order_count,
    sum(sales.total_price) as total_price,
from mart.daily_store_sales as sales
left join ref.stores as stores on sales.store_id = stores.store_id
where sales.sale_class = 'counted'
group by stores.legal_entity, stores.region, sales.currency
order by sales.currency, total_price desc, stores.legal_entity, stores.region
