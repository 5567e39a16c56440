-- One row per node and set of roundings that fit its orders: how many.
with lines as (
$lines
),
roundings as (
    select rounding_no, rounding_mode as mode, rounded_per as per, kept_decimals,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 8)) as kept
    from audit.formula_rules where rule_target = '$target' and form_no = 1
),
-- in steps, as an alias is repeated where it is named, and a macro repeats what it is given
sums as (
    select
        lines.order_id, lines.node, roundings.rounding_no, any_value(stated) as stated,
        any_value(factor) as factor, any_value(unit) as unit, any_value(per) as per, any_value(mode) as mode,
        any_value(kept) as kept,
        sum(case
            when per = 'unit' then quantity * rounded(cast(per_unit as decimal(38, 8)), mode, kept)
            when per = 'line' then rounded(cast(quantity * per_unit + per_line as decimal(38, 8)), mode, kept)
            else quantity * per_unit + per_line
        end) + any_value(rest) as gross,
    from lines
    inner join roundings
        on (per is distinct from 'unit' or is_by_unit)
        and (per is null or digits is null or digits = kept_decimals)
    group by lines.order_id, lines.node, roundings.rounding_no
),
nets as (select *, net_of(gross, factor) as summed from sums),
amounts as (
    select
        order_id, node, rounding_no,
        if(per = 'order', rounded(cast(summed as decimal(38, 8)), mode, kept), summed) = stated as is_fitting,
        abs(summed - stated) <= unit as is_near,
    from nets
),
answers as (
    select
        node, order_id,
        list(rounding_no order by rounding_no) filter (where is_fitting) as fitting,
        bool_or(is_near and rounding_no = 1) as is_near,
    from amounts group by node, order_id
)

select node, coalesce(fitting, []), count(*), count_if(is_near) from answers group by all order by all
