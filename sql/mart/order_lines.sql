-- One row per order line, with its amount by the subtotal rule in force for its order.
with

rules as (
    select
        rule,
        rule_parameters[1] = 1 as is_price_alone,
        rule_parameters[2] = 0 as is_without,
        rule_parameters[3] = 0 as is_per_unit,
        rule_parameters[4] = 0 as is_own,
        case rule_parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
        if(rounded_per in ('line', 'unit'), rounding_mode, null) as mode,
        rounded_per = 'unit' as is_rounded_per_unit,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 4)) as unit,
    from audit.formula_rules
    where rule_target = 'subtotal'
),

in_force as (
    select
        order_rules.order_id,
        order_rules.line_rule is not null as has_rule,
        list_bit_or([0] || [1 << (part - 1) for part in line_open_parts]) as open_parts,
        rules.* exclude (rule),
    from audit.order_rules as order_rules
    left join rules on order_rules.line_rule = rules.rule
),

lines as (
    select
        in_force.* exclude (order_id),
        sums.*,
        cast(unit_price_by(in_force, sums) as decimal(38, 4)) as unit_price,
        product_amount_by(in_force, sums) as product_amount,
        added_by(in_force, sums) as added,
        case
            when not has_rule or not sums.is_whole then null
            -- what candidates that remain treat differently
            when open_parts <> 0 and open_parts & parts_held(sums) <> 0 then null
            when is_without or not sums.has_modifiers then product_amount
            else product_amount
                + if(is_per_unit and sums.quantity <> 1, sums.quantity * added, added)
        end as exact,
    from audit.order_line_sums as sums
    inner join in_force on sums.order_id = in_force.order_id
),

valued as materialized (
    select
        order_id, line_no, product_id, name, quantity, modifier_count, price,
        unit_price,
        cast(
            case
                when mode is null or exact is null then exact
                when is_rounded_per_unit then quantity * rounded(
                    cast(price as decimal(38, 4)) + if(is_without, 0, added), mode, unit
                )
                else rounded(exact, mode, unit)
            end as decimal(38, 4)
        ) as line_amount,
        cast(exact - product_amount as decimal(38, 4)) as modifiers_amount,
        missing_reason(line_amount, has_rule, is_whole) as missing_amount_reason,
        if(line_amount >= 0, small_points_of(line_amount), null) as points,
    from lines
),

-- A line's share of the discount is that of the lines so far, less that of those before: all
-- add up to it. Adding up line by line takes sorting, but not for up to six lines.
contents as (
    select
        order_id,
        max(line_no) as last_no,
        cast(sum(points) as bigint) as all_points,
        cast(sum(points) filter (where line_no <= 2) as bigint) as to_2,
        cast(sum(points) filter (where line_no <= 3) as bigint) as to_3,
        cast(sum(points) filter (where line_no <= 4) as bigint) as to_4,
        cast(sum(points) filter (where line_no <= 5) as bigint) as to_5,
    from valued
    group by order_id
    having last_no <= 6 and count(*) = count(points) and all_points > 0
),

orders as (
    select
        o.order_id, store_id, business_date, sale_class, store_name, currency, discount,
        contents.* exclude (order_id),
        small_points_of(smallest_unit(currency, discount)) as unit_points,
        small_points_of(discount) as discount_points,
        all_points is not null and discount_points is not null as is_small,
    from mart.orders as o
    left join contents on o.order_id = contents.order_id
),

sorted as (
    select
        order_id,
        line_no,
        sum(line_amount) over (partition by order_id order by line_no) as so_far,
        sum(line_amount) over (partition by order_id) as whole,
        min(coalesce(line_amount, -1)) over (partition by order_id) as least, -- null: -1
    from valued
    where order_id in (select o.order_id from orders as o where not is_small and discount <> 0)
),

apportioned as (
    select
        lines.*,
        orders.* exclude (order_id),
        up_to(lines, orders) as points_so_far,
        sorted.* exclude (order_id, line_no),
    from valued as lines
    inner join orders on lines.order_id = orders.order_id
    left join sorted on lines.order_id = sorted.order_id and lines.line_no = sorted.line_no
)

select
    -- keys
    order_id,
    line_no,
    store_id,
    business_date,
    sale_class,
    product_id,
    -- names
    store_name,
    name,
    -- how much
    quantity,
    modifier_count,
    -- money
    currency,
    price,
    unit_price,
    modifiers_amount,
    line_amount,
    cast(0.0001 as decimal(4, 4)) * cast(
        case
            when discount = 0 then 0
            when is_small
                then share_of(discount_points, points_so_far, points, all_points, unit_points)
            when least >= 0 and whole > 0 and whole < 1000000000000000
                then share_of(
                    points_of(discount), points_of(so_far), points_of(line_amount),
                    points_of(whole), unit_points
                )
        end as decimal(34, 0)
    ) as discount_share,
    missing_amount_reason,
from apportioned
