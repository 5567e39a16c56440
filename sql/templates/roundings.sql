-- One row per node and set of roundings that fit its orders: how many.
with lines as (
$lines
),

roundings as (
    select rounding_no, rounding_mode as mode, rounded_per as per, kept_decimals,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 8)) as kept
    from audit.formula_rules
    where rule_target = '$target' and form_no = 1
),

amounts as (
    select
        lines.order_id, lines.node, roundings.rounding_no, any_value(stated) as stated,
        sum(case
            when per = 'unit'
                then quantity * rounded(cast(per_unit as decimal(38, 8)), mode, kept)
            when per = 'line'
                then rounded(
                    cast(quantity * per_unit + per_line as decimal(38, 8)), mode, kept
                )
            else quantity * per_unit + per_line
        end) + any_value(rest) as gross,
        net_of(gross, any_value(factor)) as summed,
        if(any_value(per) = 'order',
            rounded(cast(summed as decimal(38, 8)), any_value(mode), any_value(kept)),
            summed) = any_value(stated) as is_fitting,
        abs(summed - any_value(stated)) <= any_value(unit) as is_near
    from lines
    inner join roundings
        on (per is distinct from 'unit' or is_by_unit)
        and (per is null or digits is null or digits = kept_decimals)
    group by lines.order_id, lines.node, roundings.rounding_no
),

answers as (
    select
        node, order_id,
        list(rounding_no order by rounding_no) filter (where is_fitting) as fitting,
        bool_or(is_near and rounding_no = 1) as is_near,
    from amounts
    group by node, order_id
)

select node, coalesce(fitting, []), count(*), count_if(is_near) from answers group by all order by all
