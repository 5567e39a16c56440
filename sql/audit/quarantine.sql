-- One row per document and reason for its rejection or failed fetch; per payload if it had no id.
--
-- Source: every quarantined payload, and every id whose fetch failed. Neither values nor bytes are here: they are
-- encrypted in the vault.
-- Caveats: a rejected payload leaves the document as it was; its row remains after a later one was accepted, so filter
-- by is_unresolved for current problems.
--
-- key: kind, entity_id, reason, pointer, load_id, seq
-- join audit.loads (load_id): a rejected body has its load
--
-- entity_id: The order, menu or store; null if the payload has no usable id.
-- reason: Why it was rejected, as a code.
-- pointer VARCHAR null: Where in the document, as a JSON pointer; null if it concerns the whole.
-- source: Source of the last such rejection: live or archive.
-- load_id: Load of the last such rejection.
-- occurrence_count: How often it was rejected for this reason.
-- first_seen_at: When it was first rejected so; null for an archive of unknown time.
-- last_seen_at: Last such rejection; null for an archive of unknown time.
-- is_unresolved BOOLEAN: Whether this is the last verdict on the id; always true for a payload without an id.
with ranked as (
    select
        kind, id as entity_id, reason, pointer, observed_at, source, load_id, seq,
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
    ranked.kind, ranked.entity_id, ranked.reason, ranked.pointer, ranked.source, ranked.load_id, ranked.seq,
    ranked.occurrence_count, ranked.first_seen_at, ranked.last_seen_at,
    ranked.entity_no = 1
    and (
        ranked.entity_id is null or states.last_verdict in ('quarantined', 'failed')
    ) as is_unresolved,
from ranked
left join raw.states as states on ranked.kind = states.kind and ranked.entity_id = states.id
where ranked.cause_no = 1
