-- One row per span of days in which most statement lines of a store show one rate of commission.
--
-- Source: audit.settlement_rows: no contract is read. A rate is a multiple of 0.05% by which the commission, rounded to a cent,
-- is a share of the base. Each day of orders has the rate that most of its lines agree with, if three lines of the store do.
-- Caveats: of rates and bases that as many lines agree with it is the roundest. Commission that a platform states apart from
-- the order's line shows no rate.
--
-- key: platform, store_id, currency, from_date
--
-- platform not null: The platform, as the mapping names it.
-- from_date DATE: The first day of orders with the rate.
-- to_date DATE: The last one before another rate.
-- base ENUM('gross', 'items', 'items_and_promotions'): What it is a share of.
-- rate DECIMAL(18,4) not additive: Commission as a share of the base: 0.15 is 15%.
-- currency not null: The currency of the lines.
-- line_count: Orders and totals on statements of these days.
-- agreeing_count BIGINT >= 1: Those whose commission is the rate's, to the cent.
-- exception_count BIGINT >= 0: The others.
-- is_in_force BOOLEAN: Whether at least three lines agree, and nine in ten: each other one is a break, wrong_commission.
with lines as (
    select
        platform, store_id, currency, sold_on, entry_no, settlement_no, commission_amount,
        unnest([1, 2, 3]) as base_no,
        commission_bases[base_no] as base_amount,
    from audit.settlement_rows
    where statement_kind in ('order', 'total') and gross_amount > 0
),

-- rates are counted in steps of 0.05%; a base below 1 would fit too many
steps as (
    select
        *,
        unnest(
            range(
                cast(floor(2000 * (commission_amount - 0.005) / base_amount) as bigint),
                cast(ceil(2000 * (commission_amount + 0.005) / base_amount) as bigint) + 1
            )
        ) as step_no,
    from lines
    where commission_amount > 0 and base_amount >= 1
),

agreeing as (
    select
        *,
        count(*) over (
            partition by platform, store_id, currency, base_no, step_no
        ) as agreeing_count,
    from steps
    where abs(step_no * base_amount - 2000 * commission_amount) <= 10
),

-- the rate of each line, and of each day
shown as (
    select
        platform, store_id, currency, sold_on, entry_no, settlement_no,
        arg_max(
            (base_no, step_no),
            (agreeing_count, step_no % 20 = 0, step_no % 10 = 0, step_no % 2 = 0, -base_no, -step_no)
        ) as shown_rate,
        max(agreeing_count) as agreeing_count,
    from agreeing
    where agreeing_count >= 3
    group by all
),

days as (
    select
        platform, store_id, currency, sold_on,
        arg_max(shown_rate, (line_count, agreeing_count, shown_rate)) as shown_rate,
    from (
        select * exclude (entry_no, settlement_no), count(*) as line_count,
        from shown
        group by all
    )
    group by all
),

spans as (
    select
        platform, store_id, currency, shown_rate,
        min(sold_on) as from_date,
        max(sold_on) as to_date,
    from (
        select
            *,
            row_number() over (
                partition by platform, store_id, currency order by sold_on
            ) - row_number() over (
                partition by platform, store_id, currency, shown_rate order by sold_on
            ) as span_no,
        from days
    )
    group by platform, store_id, currency, shown_rate, span_no
)

select
    spans.platform,
    spans.store_id,
    spans.from_date,
    spans.to_date,
    -- rate
    ['gross', 'items', 'items_and_promotions'][spans.shown_rate[1]] as base,
    cast(spans.shown_rate[2] / 2000 as decimal(18, 4)) as rate,
    -- evidence
    spans.currency,
    count(*) as line_count,
    count(*) filter (
        where abs(spans.shown_rate[2] * lines.base_amount - 2000 * lines.commission_amount) <= 10
    ) as agreeing_count,
    count(*) - agreeing_count as exception_count,
    agreeing_count >= 3 and 9 * exception_count <= agreeing_count as is_in_force,
from spans
inner join lines
    on spans.platform = lines.platform
    and spans.store_id is not distinct from lines.store_id
    and spans.currency = lines.currency
    and spans.shown_rate[1] = lines.base_no
    and lines.sold_on between spans.from_date and spans.to_date
group by all
