-- One row per load: its payloads by verdict.
--
-- Source: raw.observations, the verdicts of validation. They add up to payload_count, or nothing is published.
-- Caveats: unchanged is not an error: the service returned the document that was already known.
--
-- key: load_id
-- scope: load
--
-- load_id: The load: the time at which it began, and a random part.
-- source: live: responses of the service. archive: files.
-- is_backfill BOOLEAN: Whether it is part of a backfill of old documents; alarms ignore those.
-- payload_count BIGINT >= 1: Payloads with a verdict, 404s and failed ids included.
-- accepted_count BIGINT >= 0: New documents, or known ones with new content.
-- unchanged_count: Documents that were already known.
-- quarantined_count: Rejected documents: see audit.quarantine.
-- not_found_count: Requests answered with 404.
-- failed_count: Ids without a usable response after all attempts: see audit.quarantine.
-- no_id_count BIGINT >= 0: Payloads without a usable id that were not requested by id.
-- received_count BIGINT >= 1: Last position in the load, from 1: as many payloads were received.
-- validated_count BIGINT >= 1: Positions with a verdict; equal to received_count, or nothing is published.
-- started_at TIMESTAMPTZ null: When the load began; null if no file says.
-- first_observed_at TIMESTAMPTZ null: When the first was observed; null for an archive of unknown time.
-- last_observed_at TIMESTAMPTZ null: When the last was observed; null for an archive of unknown time.
select
    load_id,
    any_value(kind) as kind, -- a load is of one kind and one source
    any_value(source) as source,
    coalesce(bool_or(is_backfill), false) as is_backfill,
    count(*) as payload_count,
    count(*) filter (where verdict = 'accepted') as accepted_count,
    count(*) filter (where verdict = 'unchanged') as unchanged_count,
    count(*) filter (where verdict = 'quarantined') as quarantined_count,
    count(*) filter (where verdict = 'missing') as not_found_count,
    count(*) filter (where verdict = 'failed') as failed_count,
    count(*) filter (where id is null) as no_id_count,
    max(seq) + 1 as received_count,
    count(distinct seq) as validated_count,
    any_value(load_started_at) as started_at, min(observed_at) as first_observed_at,
    max(observed_at) as last_observed_at,
from raw.observations
group by load_id
