-- One row per settlement of an order by a platform: the commission charged, and expected by the rate in force.
select
    settlements.settlement_no, settlements.currency, breaks.state, settlements.charged,
    if(rates.is_in_force, charged.expected_amount, null) as expected, charged.base_amount,
    if(rates.is_in_force, charged.line_rate, null) as rate, charged.line_base as base, charged.from_date
from (
    select platform, currency, entry_no, settlement_no,
        -sum(amount) filter (component = 'commission') as charged,
    from mart.settlement_lines semi join (
        from mart.settlement_matches
        where order_id = ? and platform = ? and match_state in ('matched', 'settled_twice')
    ) using (match_id)
    where statement_kind = 'order'
    group by all
) as settlements
left join workings.settlement_commissions as charged using (entry_no, settlement_no)
left join mart.settlement_rates as rates
    on charged.platform = rates.platform and charged.store_id is not distinct from rates.store_id
    and charged.currency = rates.currency and charged.from_date = rates.from_date
left join audit.settlement_breaks as breaks
    on breaks.break_key = concat('commission:', settlements.entry_no, '/', settlements.settlement_no)
where settlements.charged is not null
order by settlements.entry_no, settlements.settlement_no
