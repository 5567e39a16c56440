-- One row per open question, place, and what the data say of it there, in words.
--
-- A step: read audit.questions instead.
--
-- Source: audit.service_behaviour, audit.field_profile, audit.vocabulary, audit.status_transitions, core.store_menus,
-- audit.formula_populations, audit.quarantine.
--
-- key: none
--
-- place VARCHAR null: What the words are about: a field, or an operation of the service.
-- said VARCHAR: What is found there, in words.
-- figure BIGINT null: By which several of one place are put in order, most first.
-- lacking BIGINT null: By which places are put in order, most first.
-- agree BIGINT null: How many cases support what is assumed.
-- against BIGINT null: How many cases contradict it.
-- example_ids: Up to three ids of documents in point.
with populations as (
    select
        rule_target || '_formula' as question,
        case verdict
            when 'none' then 'refuted'
            when 'agreed' then 'supported'
            when 'not_tested' then 'not tested'
            else cast(verdict as varchar)
        end as verdict,
        scope, order_count as n,
    from audit.formula_populations
),
-- what a rejected document shows against the assumptions: the accepted ones never do
rejected as (
    select
        kind, entity_id, reason,
        coalesce(cast(entity_id as varchar), load_id || '/' || seq) as document,
        unnest(list_filter([
            if(reason = 'too_many_decimals', 'decimals', null),
            if(reason = 'id_out_of_range' or pointer like '%id', 'ids', null),
            if(reason = 'no_id', 'nulls', null),
            if(reason in ('too_large', 'too_deep', 'too_many_parts'), 'sizes', null),
            if(kind = 'stores' and pointer <> '', 'store_record', null),
        ], lambda each: each is not null)) as question,
    from audit.quarantine
),
figures as (
    -- what the client and the receiver counted of the service
    select
        aspect = 'status' and name = '200' and operation in ('orders', 'stores') as has_document,
        unnest(list_filter([
            case
                when aspect = 'status' then case operation
                    when 'authenticate' then 'authenticate'
                    when 'store list' then 'store_list'
                    when 'stores' then 'store_path'
                end
                when aspect = 'error_body' then 'errors'
                when aspect = 'token_lifetime' then 'token_lifetime'
                when aspect in ('rate_limit', 'retry_after') then 'limits'
                when aspect = 'response_bytes' and name = 'p99' then 'sizes'
                when aspect = 'duration_ms' and name = 'p99' then 'timeouts'
                when aspect = 'deliveries' then 'webhook_places'
                when aspect in ('lag_seconds', 'loss') then 'webhook_signing'
            end,
            if(aspect = 'status' and not regexp_matches(name, '^[23]'), 'errors', null),
            if(aspect = 'status' and name = '401', 'token_refused', null),
            if(aspect = 'token_lifetime' and name = 'accepted', 'token_place', null),
            if(has_document, 'base_address', null),
            if(has_document, 'token_header', null),
        ], lambda each: each is not null)) as question,
        concat_ws(' ', operation, aspect, name) as place,
        case aspect
            when 'response_bytes' then ' bytes'
            when 'duration_ms' then ' ms'
            when 'deliveries' then ' per id'
            when 'loss' then ' of them'
            when 'rate_limit' then ''
            else ' s'
        end as unit,
        list_transform(
            [coalesce(metric_value, if(min_value = max_value, min_value, null)), min_value, max_value],
            lambda x: if(abs(x) < 100, regexp_replace(format('{:.3f}', x), '\.?0+$', ''), format('{:,.0f}', x)) || unit
        ) as measured,
        concat_ws(
            ', ',
            if(occurrence_count = 1, 'once', format('{:,} times', occurrence_count)),
            measured[1],
            if(min_value < max_value, format('from {} to {}', measured[2], measured[3]), null)
        ) as said,
        if(
            (aspect = 'status' and name like '2%') or question = 'token_place', occurrence_count, null
        ) as agree,
    from audit.service_behaviour
    union all by name
    select
        question,
        kind || ' quarantined' as place,
        count(distinct document) as against,
        against as figure,
        format('{} ({:,})', reason, against) as said,
        min(entity_id, 3) as example_ids,
    from rejected group by question, kind, reason
    union all by name
    -- how often fields are there, and what they hold
    select
        null_document_count + absent_document_count as lacking_count,
        kind = 'orders' and parse_filename(path) in (
            'dispatch_note', 'instructions', 'confirmation_code', 'tracking_url'
        ) as is_free_text,
        unnest(list_filter([
            if(is_documented and lacking_count > 0, 'nulls', null),
            if(is_documented, null, 'new_fields'),
            if(kind = 'stores', 'store_' || if(is_documented, 'record', 'personal'), null),
            if(list_contains(types, 'number') and max_decimals >= 0, 'decimals', null),
            if(is_free_text, 'free_texts', null),
            if(path = if(kind = 'menus', '/menu/id', '/id'), 'ids', null),
        ], lambda each: each is not null)) as question,
        case
            when question = 'ids' then kind
            when starts_with(question, 'store_') then path
            else kind || ' ' || path
        end as place,
        array_to_string(types, '|') as named_types,
        coalesce(present_count, 0) as present, coalesce(parent_count, 0) as parents,
        format('{:,} {}', present, if(present = 1, 'place', 'places')) as places,
        case question
            when 'nulls' then format(
                'null in {:,}, absent from {:,} of {:,}', null_document_count, absent_document_count, document_count
            )
            when 'new_fields' then format('{} in {}', named_types, places)
            when 'store_record' then format('{} in {:,} of {:,}', named_types, present, parents)
            when 'store_personal' then format('kept encrypted in {}', places)
            when 'decimals' then format('decimals up to {}', max_decimals)
            when 'free_texts' then format('not empty in {:,} of {:,}', present - coalesce(empty_count, 0), parents)
            when 'ids' then format(
                '{} to {}', coalesce(cast(min_value as bigint), 0), coalesce(cast(max_value as bigint), 0)
            )
        end as said,
        if(question = 'nulls', lacking_count, null) as lacking,
        if(question = 'ids', present_count, null) as agree,
        if(question = 'new_fields', present_count, null) as against,
        coalesce(null_example_id, absent_example_id, example_id) as seen_id,
        if(question in ('nulls', 'new_fields'), [seen_id], []) as example_ids,
    from audit.field_profile
    union all by name
    select
        unnest(['values'] || if(kind = 'orders' and path = '/status', ['final_statuses'], [])) as question,
        if(question = 'values', kind || ' ' || path, 'orders stand at') as place,
        document_count as figure,
        format('{} ({})', value, document_count) as said,
        if(question = 'final_statuses', [example_id], null) as example_ids,
    from audit.vocabulary
    union all by name
    select
        'final_statuses' as question, 'seen to follow each other' as place, occurrence_count as figure,
        format(
            '{} to {} ({:,})', coalesce(previous_status, 'none'), coalesce(status, 'none'), occurrence_count
        ) as said,
    from audit.status_transitions where entity_type = 'order'
    union all by name
    -- which rule its orders support, counted and by scope
    select
        question, sum(n) as figure,
        format('{} for {:,} of {:,}', verdict, figure, sum(sum(n)) over (partition by question)) as said,
    from populations group by question, verdict
    union all by name
    select
        question, verdict as place, sum(n) as figure,
        format('{} ({:,})', scope, figure) as said,
    from populations group by question, verdict, scope
    union all by name
    select
        'store_menus' as question,
        format(
            'Stores that name menus: {:,}; menus that they name: {:,}; most of one store: {:,}.',
            count(*),
            sum(menus),
            max(menus)
        ) as said,
        count(*) as agree,
        list(store_id) filter (where menus > 1) as example_ids,
    from (select store_id, count(*) as menus, from core.store_menus group by store_id)
    having count(*) > 0
)

select
    question, place, said,
    cast(figure as bigint) as figure,
    lacking, agree, against,
    list_sort(list_distinct(coalesce(example_ids, [])))[:3] as example_ids,
from figures
