-- One row per document and reason for its rejection; per payload if it had no id.
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
        -- payloads without an id are never grouped
        if(id is null, load_id || '/' || seq, '') as payload,
        row_number() over (
            partition by kind, id, reason, pointer, payload
            order by observed_at desc nulls last, source desc, load_id desc, seq desc
        ) as cause_no,
        row_number() over (
            partition by kind, id, payload
            order by observed_at desc nulls last, source desc, load_id desc, seq desc
        ) as entity_no,
        count(*) over of_cause as occurrence_count,
        min(observed_at) over of_cause as first_seen_at,
        max(observed_at) over of_cause as last_seen_at,
    from raw.refusals
    window of_cause as (partition by kind, id, reason, pointer, payload)
)

select
    -- keys
    ranked.kind,
    ranked.entity_id,
    ranked.reason,
    ranked.pointer,
    -- the last such rejection
    ranked.source,
    ranked.load_id,
    ranked.seq,
    -- how often
    ranked.occurrence_count,
    ranked.first_seen_at,
    ranked.last_seen_at,
    ranked.entity_no = 1
    and (
        ranked.entity_id is null
        or states.last_verdict in ('quarantined', 'failed')
    ) as is_unresolved,
from ranked
left join raw.states as states
    on ranked.kind = states.kind
    and ranked.entity_id = states.id
where ranked.cause_no = 1
