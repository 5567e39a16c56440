-- How many orders of a population are off by exactly a share of their lines, rounded for each, or its bound.
with lines as (
    select
        off_orders.order_id, off_orders.subtotal, off_orders.residual,
        cast(off_orders.unit * 0.0001::decimal(5, 4) as decimal(5, 4)) as unit,
        unnest(range(7)) as form_no,
        unnest(readings_of(sums)) as amount,
    from workings.order_line_sums as sums
    inner join off_orders on sums.order_id = off_orders.order_id and off_orders.node = $node
),
read_lines as (
    select order_id,
    from lines
    group by order_id, form_no
    having
        count(*) = count(amount) and sum(amount) * $unit = any_value(subtotal)
        and if(any_value($is_share), sum(rounded(
            cast($share::decimal(9, 6) * cast(amount as decimal(22, 4)) as decimal(38, 8)),
            'half_up', unit
        )) * $unit, $bound) = any_value(residual)
)

select count(distinct order_id) from read_lines
