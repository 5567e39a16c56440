-- By platform and currency matches add up to the lines: no line is in two of them, or in none.
-- severity: blocking
-- scope: all
with sums as (
    select platform, currency, net_amount as amount from mart.settlement_matches
    union all
    select platform, currency, -amount from mart.settlement_lines
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', platform, currency) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from sums
group by platform, currency
having sum(amount) <> 0
