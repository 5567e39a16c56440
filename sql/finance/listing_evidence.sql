-- One row per fact that a reconciliation rests on: release, rules, verdicts, findings.
with release as (
    select
        generate_subscripts($items, 1) as position,
        'release' as section,
        unnest($items) as item,
        unnest($details) as detail,
),
rules as (
    select
        100 as position, 'rules' as section,
        rule_target || ', ' || scope as item,
        concat_ws('; ', sentence, 'deciding cases: ' || nullif(array_to_string(deciding_cases, ', '), '')) as detail,
        order_count,
    from audit.formula_populations
),
verdicts as (
    select
        102 as position, 'verdicts' as section, verdict as item,
        concat_ws(
            '; ',
            nullif(concat_ws(', ', 'total: ' || total_likely_cause, 'lines: ' || subtotal_likely_cause), ''),
            reason
        ) as detail,
        count(*) as order_count,
    from mart.order_reconciliation as rows where $selected group by position, section, item, detail
),
control_totals as (
    select
        103 as position, 'control total' as section,
        strftime(business_date, '%Y-%m-%d') || ' store ' || store_id || ' ' || amount_field as item,
        concat_ws(
            '; ',
            tie_out_status, unknown_reason,
            'stated ' || control_order_count || ' orders',
            'actual ' || actual_order_count || ' orders',
            'sale classes ' || sale_classes
        ) as detail,
        order_count_variance as order_count, sales.currency, control_amount, actual_amount,
        amount_variance as amount,
    from audit.control_totals as rows
    left join (
        select store_id, max(currency) as currency from mart.daily_store_sales group by store_id
    ) as sales using (store_id)
    where $selected
),
statuses as (
    select
        104 as position,
        'statuses, all days' as section,
        coalesce(status, 'no status') as item,
        concat_ws(
            '; ',
            'sale class ' || sale_class,
            'with a total of zero: ' || zero_total_count,
            'followed by another status: ' || nullif(transitioned_count, 0)
            || ' (' || array_to_string(next_statuses, ', ') || ')'
        ) as detail,
        order_count, currency, total_price as amount,
    from audit.status_evidence
),
duplicates as (
    select
        105 as position, 'possible duplicates' as section,
        cast(order_id as varchar) as item,
        'may repeat order ' || original_order_id || ', ' || seconds_later || ' seconds later' as detail,
        currency, total_price as amount,
    from audit.possible_duplicate_orders as rows where $selected
),
findings as (
    select
        106 as position,
        'findings, all days' as section,
        check_name as item, 'rows in audit.findings' as detail, count(*) as order_count,
    from audit.findings group by check_name
)

select section, item, detail, order_count, currency, control_amount, actual_amount, amount,
from (
    from release
    union all by name
    from rules
    union all by name
    from verdicts
    union all by name
    from control_totals
    union all by name
    from statuses
    union all by name
    from duplicates
    union all by name
    from findings
)
order by position, item, detail, currency nulls last
