-- One row per document and cause for which it was refused; per body where it had no id.
with

ranked as (
    select
        kind,
        id as entity_id,
        reason,
        pointer,
        observed_at,
        source,
        load_id,
        seq,
        -- a body without an id is like no other
        if(id is null, load_id || '/' || seq, '') as body,
        row_number() over (
            partition by kind, id, reason, pointer, body
            order by observed_at desc nulls last, source desc, load_id desc, seq desc
        ) as n_of_cause,
        row_number() over (
            partition by kind, id, body
            order by observed_at desc nulls last, source desc, load_id desc, seq desc
        ) as n_of_entity,
        count(*) over of_cause as times,
        min(observed_at) over of_cause as first_seen_at,
        max(observed_at) over of_cause as last_seen_at,
    from raw.refusals
    window of_cause as (partition by kind, id, reason, pointer, body)
)

select
    -- keys
    ranked.kind,
    ranked.entity_id,
    ranked.reason,
    ranked.pointer,
    -- the last such refusal
    ranked.source,
    ranked.load_id,
    ranked.seq,
    -- how often
    ranked.times,
    ranked.first_seen_at,
    ranked.last_seen_at,
    ranked.n_of_entity = 1
    and (
        ranked.entity_id is null
        or states.last_verdict in ('quarantined', 'failed')
    ) as is_unresolved,
from ranked
left join raw.states as states
    on ranked.kind = states.kind
    and ranked.entity_id = states.id
where ranked.n_of_cause = 1
