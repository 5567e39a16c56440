-- One row per settlement of an order by a platform: the commission charged, and expected by the rate in force.
with settlements as (
    select platform, store_id, currency, entry_no, settlement_no,
        -sum(amount) filter (component = 'commission') as charged,
        sum(amount) filter (component in ('items', 'delivery', 'tip', 'promotion', 'gross')) as gross,
        sum(amount) filter (component = 'items') as items,
        sum(amount) filter (component in ('items', 'promotion')) as items_and_promotions
    from mart.settlement_lines semi join (
        from mart.settlement_matches
        where order_id = ? and platform = ? and match_state in ('matched', 'settled_twice')
    ) using (match_id)
    where statement_kind = 'order'
    group by all
)
select settlement_no, settlements.currency, breaks.state, charged, charged - coalesce(breaks.amount, 0) as expected,
    rates.rate, rates.base::varchar as base, rates.from_date,
    case rates.base when 'gross' then gross when 'items' then items else items_and_promotions end as base_amount
from settlements
left join mart.settlement_rates as rates on rates.is_in_force and settlements.platform = rates.platform
    and settlements.store_id is not distinct from rates.store_id and settlements.currency = rates.currency
    and (select business_date from mart.orders where order_id = ?) between rates.from_date and rates.to_date
left join audit.settlement_breaks as breaks
    on breaks.break_key = concat('commission:', entry_no, '/', settlement_no)
where charged is not null and gross > 0
order by entry_no, settlement_no
