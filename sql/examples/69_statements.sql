-- What do statements add up to, and what did they cost?
select
    platform,
    statement_ref,
    first_line_date,
    last_line_date,
    unmatched_count,
    currency,
    gross_amount,
    refund_amount,
    cost_amount,
    net_amount,
from mart.settlement_statements
order by platform, first_line_date, statement_ref, currency
limit 100
