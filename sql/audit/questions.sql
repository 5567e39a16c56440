-- One row per thing that the interface does not show.
with

-- questions about each order; amounts of two currencies do not add up
cases as (
    select
        question,
        is_against,
        sum(order_count) as order_count,
        count(distinct currency) = 1 and count(currency) = count(*) as has_one_currency,
        if(has_one_currency, sum(total_price), null) as affected_amount,
        if(has_one_currency, any_value(currency), null) as currency,
        list_sort(flatten(list(example_ids)))[:3] as example_ids,
    from audit.daily_question_cases
    group by question, is_against
),

counted as (
    select
        question,
        cast(coalesce(sum(order_count) filter (where is_against), 0) as bigint)
            as against,
        cast(coalesce(sum(order_count) filter (where not is_against), 0) as bigint)
            as agree,
        any_value(affected_amount) filter (where is_against) as affected_amount,
        any_value(currency) filter (where is_against) as currency,
        any_value(example_ids) filter (where is_against) as example_ids,
    from cases
    group by question
),

of_orders as (
    select
        *,
        format(
            case question
                when 'sales' then '{:,} orders have a status that no list in [sales] '
                    || 'names; {:,} have one that is named.'
                when 'currency' then '{:,} orders are of stores without a currency; '
                    || '{:,} of stores with one.'
                when 'timezone' then '{:,} orders are of stores without a timezone '
                    || 'that exists; {:,} of stores with one.'
                when 'deleted' then '{:,} orders that were seen are not found any '
                    || 'more; {:,} still are.'
                when 'business_day' then '{:,} orders were asked for on another local '
                    || 'day than they were created; {:,} for the same.'
                when 'total_formula' then '{:,} totals differ from what their parts '
                    || 'make by the rule in force; {:,} are equal to it.'
                when 'subtotal_formula' then '{:,} subtotals differ from what their '
                    || 'lines make by the rule in force; {:,} are equal to it.'
                when 'nulls' then '{:,} orders lack an amount; {:,} have all.'
                when 'decimals' then '{:,} orders have an amount of more than two '
                    || 'decimals; {:,} have none.'
            end,
            against,
            agree
        ) as sentence,
    from counted
),

shown as (
    select
        kind,
        path,
        kind || ' ' || path as place,
        is_documented,
        document_count,
        parent_count,
        present_count,
        empty_count,
        null_document_count,
        absent_document_count,
        types,
        max_decimals,
        min_value,
        max_value,
        example_id,
        coalesce(null_example_id, absent_example_id) as lacking_example_id,
    from audit.field_profile
),

-- questions about the service: what the client and the receiver counted
behaved as (
    select
        unnest(
            case
                when aspect = 'status' and operation = 'authenticate'
                    then ['authenticate']
                when aspect = 'status' and operation = 'store list' then ['store_list']
                when aspect = 'status' and operation = 'stores' then ['store_path']
                when aspect = 'status' then ['errors']
                when aspect = 'error_body' then ['errors']
                when aspect = 'token_lifetime' then ['token_lifetime']
                when aspect in ('rate_limit', 'retry_after') then ['limits']
                when aspect = 'response_bytes' and name = 'p99' then ['sizes']
                when aspect = 'duration_ms' and name = 'p99' then ['timeouts']
                when aspect = 'deliveries' then ['webhook_places']
                when aspect in ('lag_seconds', 'loss') then ['webhook_signing']
                else []
            end
            || if(aspect = 'status' and name = '401', ['token_refused'], [])
            || if(
                aspect = 'status'
                and name = '200'
                and operation in ('orders', 'stores'),
                ['base_address', 'token_header'],
                []
            )
        ) as question,
        aspect = 'status' and name like '2%' as is_good,
        format(
            '{} {} {}: {:,} times{}{}',
            operation,
            aspect,
            name,
            occurrence_count,
            if(metric_value is null, '', format(', {:.6g}', metric_value)),
            if(
                min_value is null,
                '',
                format(', from {:.6g} to {:.6g}', min_value, max_value)
            )
        ) as sentence,
        occurrence_count,
    from audit.service_behaviour
),

followed as (
    select
        string_agg(
            format(
                '{} to {} ({:,})',
                coalesce(previous_status, 'none'), coalesce(status, 'none'), occurrence_count
            ),
            ', ' order by occurrence_count desc, previous_status, status
        ) as sentence,
    from audit.status_transitions
    where entity_type = 'order'
),

menus_of_stores as (
    select
        store_id,
        count(*) as menus,
    from core.store_menus
    group by store_id
),

-- questions about all documents: what other evidence says, and how often
told as (
    select
        question,
        string_agg(sentence, '; ' order by sentence) as sentence,
        cast(sum(occurrence_count) filter (where is_good) as bigint) as agree,
        cast(null as bigint) as against,
        cast(null as bigint[]) as example_ids,
    from behaved
    group by question

    union all

    select
        'nulls' as question,
        string_agg(
            format(
                '{}: null in {:,}, absent from {:,} of {:,}',
                place, null_document_count, absent_document_count, document_count
            ),
            '; ' order by null_document_count + absent_document_count desc, place
        ) as sentence,
        null as agree,
        null as against,
        list_sort(list(distinct lacking_example_id))[:3] as example_ids,
    from shown
    where is_documented and (null_document_count > 0 or absent_document_count > 0)

    union all

    select
        'values' as question,
        string_agg(place || ': ' || seen, '; ' order by place) as sentence,
        null as agree,
        null as against,
        null as example_ids,
    from (
        select
            kind || ' ' || path as place,
            string_agg(
                value || ' (' || document_count || ')',
                ', ' order by document_count desc, value
            ) as seen,
        from audit.vocabulary
        group by kind, path
    ) as seen_values

    union all

    select
        'new_fields' as question,
        string_agg(
            format(
                '{}: {} in {:,} documents',
                place, array_to_string(types, '|'), present_count
            ),
            '; ' order by place
        ) as sentence,
        null as agree,
        cast(sum(present_count) as bigint) as against,
        list_sort(list(distinct example_id))[:3] as example_ids,
    from shown
    where not is_documented

    union all

    select
        'store_record' as question,
        string_agg(
            format(
                '{}: {} in {:,} of {:,} records',
                path, array_to_string(types, '|'), present_count, parent_count
            ),
            '; ' order by path
        ) as sentence,
        null as agree,
        null as against,
        null as example_ids,
    from shown
    where kind = 'stores' and is_documented

    union all

    select
        'store_personal' as question,
        'Kept encrypted: '
        || string_agg(
            format('{} in {:,} records', path, present_count), '; ' order by path
        ) as sentence,
        null as agree,
        null as against,
        null as example_ids,
    from shown
    where kind = 'stores' and not is_documented

    union all

    select
        'store_menus' as question,
        format(
            '{:,} stores name {:,} menus between them, one store up to {:,}.',
            count(*), cast(sum(menus) as bigint), max(menus)
        ) as sentence,
        count(*) as agree,
        null as against,
        list_sort(list(store_id) filter (where menus > 1))[:3] as example_ids,
    from menus_of_stores
    having count(*) > 0

    union all

    select
        'decimals' as question,
        string_agg(
            format('{}: up to {} decimals', place, max_decimals), '; ' order by place
        ) as sentence,
        null as agree,
        null as against,
        null as example_ids,
    from shown
    where list_contains(types, 'number') and max_decimals is not null

    union all

    select
        'free_texts' as question,
        string_agg(
            format(
                '{}: not empty in {:,} of {:,} places',
                place, present_count - empty_count, parent_count
            ),
            '; ' order by place
        ) as sentence,
        null as agree,
        null as against,
        null as example_ids,
    from shown
    where kind = 'orders'
        and parse_filename(path) in (
            'dispatch_note', 'instructions', 'confirmation_code', 'tracking_url'
        )

    union all

    select
        'ids' as question,
        string_agg(
            format(
                '{}: {} to {}',
                kind, cast(min_value as hugeint), cast(max_value as hugeint)
            ),
            '; ' order by kind
        ) as sentence,
        cast(sum(present_count) as bigint) as agree,
        null as against,
        null as example_ids,
    from shown
    where path = if(kind = 'menus', '/menu/id', '/id')

    union all

    select
        'final_statuses' as question,
        'Orders stand at '
        || string_agg(
            value || ' (' || document_count || ')',
            ', ' order by document_count desc, value
        )
        || coalesce('; seen to follow each other: ' || any_value(followed.sentence), '')
            as sentence,
        null as agree,
        null as against,
        list_sort(list(example_id))[:3] as example_ids,
    from audit.vocabulary
    left join followed on true
    where kind = 'orders' and path = '/status'

    union all

    select
        'product_ids' as question,
        format(
            'Product ids that name different products in different menus: {:,}.',
            count(distinct location)
        ) as sentence,
        null as agree,
        count(*) as against,
        list_sort(list(distinct entity_id))[:3] as example_ids,
    from audit.findings
    where check_name = 'core.products__have_one_name_across_menus'
    having count(*) > 0
),

answered as (
    select
        asked.no,
        asked.question,
        asked.section,
        asked.undocumented,
        asked.assumption,
        asked.partner_question,
        nullif(concat_ws(' ', of_orders.sentence, told.sentence), '') as evidence,
        coalesce(of_orders.agree, told.agree, 0) as supporting_count,
        coalesce(of_orders.against, told.against, 0) as contradicting_count,
        coalesce(of_orders.against, 0) as affected_order_count,
        of_orders.affected_amount,
        of_orders.currency,
        coalesce(of_orders.example_ids, told.example_ids, []) as example_ids,
    from raw.assumptions as asked
    left join of_orders on asked.question = of_orders.question
    left join told on asked.question = told.question
)

select
    -- keys
    question,
    row_number() over (
        order by
            affected_order_count desc,
            contradicting_count desc,
            supporting_count,
            no
    ) as rank,
    -- what is open, and what is done meanwhile
    section,
    undocumented,
    assumption,
    partner_question,
    -- what the data show, and how sure that is
    evidence,
    case
        when contradicting_count > 0 then 'contradicted'
        when supporting_count > 0 then 'supported'
        when evidence is not null then 'observed'
        else 'unknown'
    end as evidence_status,
    supporting_count,
    contradicting_count,
    -- what depends on it
    affected_order_count,
    affected_amount,
    currency,
    list_filter(example_ids, lambda id: id is not null) as example_ids,
from answered
