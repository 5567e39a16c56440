-- One row per month of business days, store, platform, dispatch method, part of the price,
-- and whether priced modifiers of other actions than add are in it: what each form leaves over.
--
-- Days are added up before the forms are worked out: they are made of fewer sums.
with

days as (
    select
        cast(date_trunc('month', business_date) as date) as business_month,
        * exclude (business_date, currency),
        coalesce(currency, '') as currency,
    from audit.formula_residuals
),

counted as (
    select
        row_number() over () as cell_no,
        business_month,
        store_id,
        platform,
        dispatch_method,
        part,
        has_other,
        cast(sum(orders) as bigint) as orders,
        min(currency) as currency,
        bool_or(has_currencies) or min(currency) <> max(currency) as has_currencies,
    from days
    group by business_month, store_id, platform, dispatch_method, part, has_other
),

-- numbered: adding up by one number is several times faster than by six columns
spread as (
    select
        counted.cell_no,
        generate_subscripts(days.largest, 1) as place,
        unnest(days.sums) as amount, -- fewer: null at the places after the last
        unnest(days.largest) as largest,
    from days
    inner join counted
        on days.business_month is not distinct from counted.business_month
        and days.store_id is not distinct from counted.store_id
        and days.platform is not distinct from counted.platform
        and days.dispatch_method is not distinct from counted.dispatch_method
        and days.part = counted.part
        and days.has_other = counted.has_other
),

added as (
    select
        cell_no,
        place,
        cast(sum(amount) as decimal(38, 4)) as amount,
        cast(max(largest) as decimal(38, 4)) as largest,
    from spread
    group by cell_no, place
),

listed as (
    select
        cell_no,
        list(amount order by place) filter (where amount is not null) as sums,
        list(largest order by place) as largest,
    from added
    group by cell_no
),

named as (
    select
        *,
        -- of a total
        sums[1] as off,
        sums[2] as subtotal,
        sums[3] as delivery,
        sums[4] as tip,
        sums[5] as discount,
        sums[6] as loyalty,
    from listed
)

select
    -- keys
    counted.business_month,
    counted.store_id,
    counted.platform,
    counted.dispatch_method,
    counted.part,
    counted.has_other,
    -- how many
    counted.orders,
    -- money
    nullif(counted.currency, '') as currency,
    counted.has_currencies,
    case counted.part
        when 'subtotal' then flatten(
            list_transform(
                named.sums[1:4],
                lambda off: [off]
                || list_transform(named.sums[5:], lambda modifiers: off - modifiers)
            )
        )
        when 'total' then [
            off,
            off + delivery,
            off + 2 * delivery,
            off + tip,
            off + 2 * tip,
            off - discount,
            off - 2 * discount,
            off - loyalty,
            off - 2 * loyalty,
            off - discount - loyalty,
            off + delivery + tip,
            off + subtotal,
            off + 2 * subtotal,
        ]
    end as residuals,
    named.largest,
from counted
inner join named on counted.cell_no = named.cell_no
