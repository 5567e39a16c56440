-- One row per span of days in which most statement lines of a store show one rate of commission.
--
-- Source: workings.settlement_commissions: no contract is read. A rate is a multiple of 0.05% by which the commission, rounded to
-- a cent, is a share of the base. Each day of orders has the rate that most of its lines agree with, if three lines of the store
-- do. Lines may agree with another rate that orders of their dispatch method and platform have, or that is used beside it.
-- Caveats: of rates and bases that as many lines agree with it is the roundest. Commission that a platform states apart from
-- the order's line shows no rate.
--
-- key: platform, store_id, currency, from_date
--
-- platform not null: The platform, as the mapping names it.
-- currency not null: The currency of the lines.
-- line_count: Orders and totals on statements of these days.
-- agreeing_count BIGINT >= 0: Those whose commission is what the rates come to, to the cent.
-- exception_count BIGINT >= 0: The others.
-- is_in_force BOOLEAN: Whether at least three lines agree, and nine in ten: each other one is a break, wrong_commission.
select
    platform, store_id, from_date, to_date, base, rate, other_rates, fixed_amount, min_amount, currency,
    count(*) as line_count,
    count(*) filter (where is_agreeing) as agreeing_count,
    count(*) - agreeing_count as exception_count,
    agreeing_count >= 3 and 9 * exception_count <= agreeing_count as is_in_force,
from workings.settlement_commissions
group by all
