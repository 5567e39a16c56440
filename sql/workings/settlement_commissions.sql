-- One row per settlement on a day with a rate of commission: charged, and expected by the lines of its store.
--
-- Source: workings.settlement_rows, workings.settlement_pairs and mart.orders; undivided gross has the parts of its order.
--
-- key: entry_no, settlement_no
--
-- platform not null: The platform, as the mapping names it.
-- currency not null: The currency of the lines.
-- line_base VARCHAR: What the line's own rate is a share of.
-- line_rate DECIMAL(18,4) not additive: The rate that the line follows: of those of its dispatch method and platform, if these have rates of their own, the nearest.
-- base_amount DECIMAL(38,4) null: That base.
-- charged_amount DECIMAL(38,4): The commission.
-- expected_amount DECIMAL(38,4): What the line's own rate, with fixed and least amount, comes to.
-- is_agreeing BOOLEAN: Whether that is the commission, to the cent.
with settlements as (
    select
        rows_of.entry_no, rows_of.settlement_no, rows_of.platform, rows_of.store_id, rows_of.currency,
        rows_of.sold_on, rows_of.commission_amount,
        dense_rank() over (order by rows_of.platform, rows_of.currency) as market_no,
        dense_rank() over (order by rows_of.platform, rows_of.currency, rows_of.store_id) as contract_no,
        concat_ws(' ', coalesce(orders.dispatch_method, ''), orders.platform) as class,
        if(
            rows_of.commission_bases[2] = 0
            and rows_of.commission_bases[3] = 0
            and orders.total_price = rows_of.gross_amount,
            [
                rows_of.gross_amount, orders.subtotal_price,
                orders.subtotal_price - orders.discount - orders.loyalty_discount,
            ],
            rows_of.commission_bases
        ) as bases,
    from workings.settlement_rows as rows_of
    left join (
        select entry_no, settlement_no, any_value(order_id) as order_id,
        from workings.settlement_pairs
        where match_state in ('matched', 'settled_twice') and match_rule <> 'period'
        group by entry_no, settlement_no
    ) as pairs using (entry_no, settlement_no)
    left join mart.orders as orders on pairs.order_id = orders.order_id
    where rows_of.statement_kind in ('order', 'total') and rows_of.gross_amount > 0
),
charged as (
    select *, bases[base_no] as base_amount,
    from (select *, unnest([1, 2, 3]) as base_no from settlements where commission_amount > 0)
    where base_amount >= 1 -- a base below 1 would fit too many
),
-- a fixed amount beside a rate: of a sample, that which most lines of each store have at one rate
trials as (
    select
        market_no, contract_no, base_no, rate_no,
        cast(round((400 * commission_amount - rate_no * base_amount) / 20) as bigint) as fixed_no, -- of 0.05
        count(*) as line_count,
    from (
        select *, unnest(range(1, 201)) as rate_no, -- of 0.25%
        from (
            select *,
            from charged
            qualify row_number() over (
                partition by contract_no, base_no order by settlement_no % 97, entry_no, settlement_no
            ) <= 50
        )
    )
    where fixed_no between 0 and 100 and abs(400 * commission_amount - rate_no * base_amount - 20 * fixed_no) <= 2
    group by all
),
fixed as (
    select
        market_no,
        if(
            max(line_count) >= 3
            and 5 * max(line_count) > 6 * coalesce(max(line_count) filter (where fixed_no = 0), 0)
            and 5 * max(line_count) >= 3 * any_value(sample_count),
            arg_max(fixed_no, (line_count, -fixed_no)), 0
        ) * 0.05 as fixed_amount,
    from (
        select market_no, fixed_no, sum(line_count) as line_count,
        from (select market_no, contract_no, fixed_no, max(line_count) as line_count, from trials group by all)
        group by all
    )
    inner join (
        select market_no, sum(least(50, line_count)) as sample_count,
        from (
            select market_no, contract_no, count(*) as line_count,
            from settlements where commission_amount > 0 group by all
        )
        group by market_no
    ) using (market_no)
    group by market_no
),
-- rates are counted in steps of 0.05%
agreeing as (
    select
        *,
        count(*) over (partition by contract_no, base_no, step_no) as agreeing_count,
    from (
        select
            *,
            unnest(
                range(
                    cast(floor(2000 * (share_amount - 0.005) / base_amount) as bigint),
                    cast(ceil(2000 * (share_amount + 0.005) / base_amount) as bigint) + 1
                )
            ) as step_no,
        from (
            select charged.*, charged.commission_amount - fixed.fixed_amount as share_amount,
            from charged inner join fixed using (market_no)
        )
        where share_amount > 0
    )
    where abs(step_no * base_amount - 2000 * share_amount) <= 10
),
-- the rate of each line, and when it is usual
shown as (
    select
        contract_no, sold_on, entry_no, settlement_no,
        arg_max(
            (base_no, step_no),
            (agreeing_count, step_no % 20 = 0, step_no % 10 = 0, step_no % 2 = 0, -base_no, -step_no)
        ) as shown_rate,
    from agreeing where agreeing_count >= 3 group by all
),
usual as (
    select
        contract_no, shown_rate, count(*) as line_count,
        quantile_disc(sold_on, 0.05) as usual_from,
        quantile_disc(sold_on, 0.95) as usual_to,
    from shown group by all
),
-- each day has the rate that is usual then, else that of most of its lines; not one beside another of more lines
days as (
    select
        rates.contract_no, days_of.sold_on,
        arg_max(
            rates.shown_rate,
            (
                if(days_of.sold_on between usual_from and usual_to, line_count, 0),
                coalesce(day_count, 0), line_count, rates.shown_rate
            )
        ) as shown_rate,
    from (
        select *,
        from usual
        where not exists (
            select 1 from usual as main
            where
                usual.contract_no = main.contract_no
                and (usual.line_count, usual.shown_rate) < (main.line_count, main.shown_rate)
                and 2 * (least(usual.usual_to, main.usual_to) - greatest(usual.usual_from, main.usual_from) + 1)
                >= usual.usual_to - usual.usual_from + 1
        )
    ) as rates
    inner join (select distinct contract_no, sold_on from shown) as days_of using (contract_no)
    left join (select contract_no, sold_on, shown_rate, count(*) as day_count, from shown group by all) as own
        on rates.contract_no = own.contract_no
        and days_of.sold_on = own.sold_on
        and rates.shown_rate = own.shown_rate
    group by all
),
spans as (
    select contract_no, shown_rate, min(sold_on) as from_date, max(sold_on) as to_date,
    from (
        select
            *,
            row_number() over (partition by contract_no order by sold_on)
            - row_number() over (partition by contract_no, shown_rate order by sold_on) as span_no,
        from days
    )
    group by contract_no, shown_rate, span_no
),
-- each line at the rate of its span, and at others that are round and no accident
spanned as (
    select
        settlements.*, spans.from_date, spans.to_date, spans.shown_rate, fixed.fixed_amount,
        shown.shown_rate as own_rate,
        coalesce(abs(
            spans.shown_rate[2] * bases[spans.shown_rate[1]] - 2000 * (commission_amount - fixed_amount)
        ) <= 10, false) as is_usual,
        count(*) over (partition by settlements.contract_no, spans.from_date) as line_count,
    from settlements
    inner join spans
        on settlements.contract_no = spans.contract_no
        and settlements.sold_on between spans.from_date and spans.to_date
    inner join fixed on settlements.market_no = fixed.market_no
    left join shown on settlements.entry_no = shown.entry_no and settlements.settlement_no = shown.settlement_no
),
span_rates as (
    select contract_no, from_date, own_rate as span_rate,
    from spanned
    where not is_usual and own_rate[2] % 5 = 0
    group by contract_no, from_date, own_rate
    having count(*) >= 3 and 30 * count(*) >= any_value(line_count)
    union all
    select contract_no, from_date, shown_rate from spans
),
tried as (
    select
        spanned.*, rates.span_rate,
        bases[rates.span_rate[1]] as base_amount,
        abs(rates.span_rate[2] * base_amount - 2000 * (commission_amount - fixed_amount)) <= 10 as is_fitting,
        round(rates.span_rate[2] * base_amount / 2000, 2) + fixed_amount as rate_amount,
        count_if(is_fitting) over classes >= 3
        and 10 * count_if(is_fitting) over classes >= 9 * count(*) over classes as is_of_class,
    from spanned
    inner join span_rates as rates using (contract_no, from_date)
    where base_amount is not null
    window classes as (partition by contract_no, from_date, class, rates.span_rate)
),
-- a class of which nine in ten lines have one rate has that alone, if another class has another
nearest as (
    select *,
    from (
        select
            *,
            min(rate_amount) over (partition by entry_no, settlement_no) as least_amount,
        from (
            select
                *,
                bool_or(is_of_class) over (partition by entry_no, settlement_no) as has_class,
                count(distinct if(is_of_class, span_rate, null)) over (
                    partition by contract_no, from_date
                ) > 1 as is_apart,
            from tried
        )
        where is_of_class or not (has_class and is_apart)
    )
    qualify row_number() over (
        partition by entry_no, settlement_no
        order by is_fitting desc, abs(rate_amount - commission_amount), span_rate
    ) = 1
),
-- the least commission: two lines or more have it in place of less, and hardly one has less
minimums as (
    select market_no, max(commission_amount) as min_amount,
    from (
        select
            market_no, least_of.commission_amount, any_value(least_of.line_count) as line_count,
            count_if(nearest.commission_amount < least_of.commission_amount) as below_count,
        from nearest
        inner join (
            select market_no, commission_amount, count(*) as line_count,
            from nearest
            where not is_fitting and least_amount < commission_amount
            group by all
            having count(*) >= 2
        ) as least_of using (market_no)
        group by all
    )
    where 5 * below_count <= line_count
    group by market_no
)

select
    entry_no, settlement_no, platform, store_id, from_date, to_date, currency,
    ['gross', 'items', 'items_and_promotions'][shown_rate[1]] as base,
    cast(shown_rate[2] / 2000 as decimal(18, 4)) as rate,
    coalesce(others.other_rates, []) as other_rates,
    cast(fixed_amount as decimal(38, 4)) as fixed_amount,
    minimums.min_amount,
    ['gross', 'items', 'items_and_promotions'][span_rate[1]] as line_base,
    cast(span_rate[2] / 2000 as decimal(18, 4)) as line_rate,
    base_amount, commission_amount as charged_amount,
    case
        when least_amount < min_amount and commission_amount <= min_amount then min_amount
        when is_fitting then commission_amount
        else cast(rate_amount as decimal(38, 4))
    end as expected_amount,
    expected_amount = charged_amount as is_agreeing,
from nearest
left join minimums using (market_no)
left join (
    select
        contract_no, from_date,
        list(distinct cast(span_rate[2] / 2000 as decimal(18, 4)) order by 1) as other_rates,
    from span_rates
    inner join spans using (contract_no, from_date)
    where span_rate <> shown_rate
    group by all
) as others using (contract_no, from_date)
