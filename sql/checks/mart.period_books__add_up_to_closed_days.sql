-- All periods together are what closed days hold and what was posted of them, by currency.
-- severity: blocking
-- scope: all
with amounts as (
    select store_id, sale_class, currency, measure, total_amount as amount from mart.period_books
    union all
    select
        store_id, sale_class, currency, measure,
        unposted_amount - current_amount as amount,
    from mart.closed_days
    union all
    -- not recorded yet: in the current amounts and in no restatement
    select store_id, sale_class, currency, measure, restatement_amount as amount
    from audit.pending_restatements
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', 'store ' || store_id, sale_class, measure, currency) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from amounts
group by store_id, sale_class, currency, measure
having sum(amount) <> 0
