-- One row per open question, sentence about it, place that the sentence names, and words.
--
-- A step: read audit.questions instead.
--
-- Source: audit.service_behaviour, audit.field_profile, audit.vocabulary, audit.status_transitions, core.store_menus,
-- audit.formula_populations.
-- Caveats: what a figure counts follows from the code: pipelines/warehouse/inputs/sources.py.
--
-- key: question, code, place, word, next_word
--
-- code VARCHAR: Which sentence says it.
-- place VARCHAR null: What the figures are about: a field, or an operation of the service.
-- word VARCHAR null: A value or types that are found there.
-- next_word VARCHAR null: A value that was seen to follow it.
-- figure BIGINT null: The first figure of the sentence.
-- other BIGINT null: The second.
-- whole BIGINT null: The third: mostly of how many.
-- metric DOUBLE null: A measured value.
-- least DOUBLE null: The least that was measured.
-- greatest DOUBLE null: The greatest that was measured.
-- agree BIGINT null: How many cases support what is assumed.
-- against BIGINT null: How many cases contradict it.
-- example_ids: Up to three ids of documents in point.
with figures as (
    -- what the client and the receiver counted of the service
    select
        aspect = 'status' and name = '200' and operation in ('orders', 'stores')
            as has_document,
        unnest(list_filter([
            case
                when aspect = 'status' then case operation
                    when 'authenticate' then 'authenticate'
                    when 'store list' then 'store_list'
                    when 'stores' then 'store_path'
                    else 'errors'
                end
                when aspect = 'error_body' then 'errors'
                when aspect = 'token_lifetime' then 'token_lifetime'
                when aspect in ('rate_limit', 'retry_after') then 'limits'
                when aspect = 'response_bytes' and name = 'p99' then 'sizes'
                when aspect = 'duration_ms' and name = 'p99' then 'timeouts'
                when aspect = 'deliveries' then 'webhook_places'
                when aspect in ('lag_seconds', 'loss') then 'webhook_signing'
            end,
            if(aspect = 'status' and name = '401', 'token_refused', null),
            if(has_document, 'base_address', null),
            if(has_document, 'token_header', null),
        ], lambda each: each is not null)) as question,
        'service'
        || if(metric_value is null, '', '.metric')
        || if(min_value is null, '', '.range') as code,
        concat_ws(' ', operation, aspect, name) as place,
        occurrence_count as figure,
        metric_value as metric,
        min_value as least,
        max_value as greatest,
        if(aspect = 'status' and name like '2%', occurrence_count, null) as agree,
    from audit.service_behaviour

    union all by name

    -- how often fields are there, and what they hold
    select
        null_document_count + absent_document_count as lacking,
        kind = 'orders' and parse_filename(path) in (
            'dispatch_note', 'instructions', 'confirmation_code', 'tracking_url'
        ) as is_free_text,
        unnest(list_filter([
            if(is_documented and lacking > 0, 'nulls', null),
            if(is_documented, null, 'new_fields'),
            if(kind = 'stores', 'store_' || if(is_documented, 'record', 'personal'), null),
            if(list_contains(types, 'number') and max_decimals >= 0, 'decimals', null),
            if(is_free_text, 'free_texts', null),
            if(path = if(kind = 'menus', '/menu/id', '/id'), 'ids', null),
        ], lambda each: each is not null)) as question,
        'fields.' || question as code,
        case
            when question = 'ids' then kind
            when starts_with(question, 'store_') then path
            else kind || ' ' || path
        end as place,
        array_to_string(types, '|') as word,
        case question
            when 'nulls' then null_document_count
            when 'decimals' then max_decimals
            when 'free_texts' then present_count - empty_count
            else present_count
        end as figure,
        cast(if(question = 'ids', min_value, absent_document_count) as bigint) as other,
        cast(case question
            when 'ids' then max_value
            when 'nulls' then document_count
            else parent_count
        end as bigint) as whole,
        if(question = 'ids', present_count, null) as agree,
        if(question = 'new_fields', present_count, null) as against,
        coalesce(null_example_id, absent_example_id, example_id) as seen_id,
        if(question in ('nulls', 'new_fields'), [seen_id], []) as example_ids,
    from audit.field_profile

    union all by name

    select
        kind || ' ' || path as place,
        unnest(['values', 'final_statuses']) as question,
        'values.' || question as code,
        value as word,
        document_count as figure,
        if(question = 'final_statuses', [example_id], null) as example_ids,
    from audit.vocabulary

    union all by name

    select
        'final_statuses' as question,
        'values.followed' as code,
        'then' as place,
        previous_status as word,
        status as next_word,
        occurrence_count as figure,
    from audit.status_transitions
    where entity_type = 'order'

    union all by name

    -- which rule its orders support, counted and by scope
    select
        rule_target || '_formula' as question,
        'populations' as code,
        case verdict
            when 'none' then 'refuted'
            when 'agreed' then 'supported'
            when 'not_tested' then 'not tested'
            else cast(verdict as varchar)
        end as word,
        cast(sum(order_count) as bigint) as figure,
        cast(sum(figure) over (partition by question) as bigint) as whole,
    from audit.formula_populations
    group by question, word

    union all by name

    select
        rule_target || '_formula' as question,
        'populations.scope' as code,
        case verdict
            when 'none' then 'refuted'
            when 'agreed' then 'supported'
            when 'not_tested' then 'not tested'
            else cast(verdict as varchar)
        end as place,
        scope as word,
        cast(sum(order_count) as bigint) as figure,
    from audit.formula_populations
    group by question, place, word

    union all by name

    select
        'store_menus' as question,
        'stores.menus' as code,
        count(*) as figure,
        max(menus) as other,
        sum(menus) as whole,
        count(*) as agree,
        list(store_id) filter (where menus > 1) as example_ids,
    from (select store_id, count(*) as menus, from core.store_menus group by store_id)
    having count(*) > 0
)

select
    question,
    code,
    place,
    word,
    next_word,
    -- figures of the sentence
    figure,
    other,
    cast(whole as bigint) as whole,
    metric,
    least,
    greatest,
    -- for and against the assumption
    agree,
    against,
    list_sort(list_distinct(coalesce(example_ids, [])))[:3] as example_ids,
from figures
where question <> 'final_statuses' or place in ('orders /status', 'then')
