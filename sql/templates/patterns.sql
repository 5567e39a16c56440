-- One row per order: what it holds, and which forms fit: the bits of `$table`, written out.
-- Of low and high there are as many as low_count and high_count say.
with fitted as materialized ($select),
-- written out once for all orders that answer alike: character form_no is 1 where it fits
written as (
    select
        held, low, high,
        reverse(lpad(bin(held), 7, '0')) as holds,
        reverse(lpad(bin(low), low_count, '0')) || reverse(lpad(bin(high), high_count, '0')) as fits,
    from (select distinct held, low, high, low_count, high_count from fitted)
)

select
    fitted.order_id,
    -- what it can test, and which forms give its amount
    written.holds, written.fits, fitted.is_rounded,
from fitted
inner join written using (held, low, high)
