-- Orders, lines and amounts of a day's platforms are those of the day.
-- severity: blocking
with both_sides as (
    select
        store_id, business_date, sale_class, order_count, line_count, tip, discount, total_price,
    from own.daily_platform_sales

    union all

    select
        store_id, business_date, sale_class, -order_count, -line_count, -tip, -discount, -total_price,
    from mart.daily_store_sales
)

select
    store_id,
    business_date,
    sale_class,
from both_sides
group by store_id, business_date, sale_class
having
    sum(order_count) <> 0
    or sum(line_count) <> 0
    or sum(tip) <> 0
    or sum(discount) <> 0
    or sum(total_price) <> 0
