-- One row per request sent for an id in a load, with its outcome.
--
-- Source: raw.observations of source live. The last attempt for an id has its outcome; earlier ones are retried. Loads
-- from before each attempt was recorded have only the last one.
-- Caveats: count ids by is_final_attempt. Requests that are not for an id (pages of the list of stores, tokens, probes
-- of the circuit breaker) are not here: audit.service_behaviour counts them. Requests in flight when a run was stopped
-- are missing. An id can be in many loads.
--
-- key: load_id, seq, attempt_no
-- scope: load
--
-- load_id: The load that the response was landed in.
-- attempt_no BIGINT >= 1: Number of the request for this id in this load, from 1.
-- entity_id not null: The requested id.
-- outcome ENUM('accepted', 'failed', 'not_found', 'quarantined', 'retried', 'unchanged'): accepted, unchanged or quarantined: a document was returned. not_found: 404. failed: no usable response after all attempts. retried: no usable response, and another request followed.
-- reason: Why it was quarantined, failed or retried, as a code; null otherwise.
-- http_status BIGINT null: HTTP status of the response; null if there was none.
-- duration_ms: Duration of the request in milliseconds.
-- response_bytes BIGINT >= 0: Size of the response body in bytes, as read.
-- attempt_count BIGINT >= 1: Requests sent for the id in this load.
-- is_final_attempt BOOLEAN: Whether it was the last of them: true once per id and load.
-- fetched_at TIMESTAMPTZ: When the last response for the id was received, or its last attempt failed.
with requested as (
    select
        load_id, seq, kind, verdict, observed_at, id as entity_id, tries as attempt_count,
        coalesce(earlier_tries, [])
        || [{'reason': reason, 'http_status': http_status, 'ms': ms, 'bytes': bytes}] as attempts,
    from raw.observations
    where source = 'live' and tries is not null -- reprocessed ones have none
),
attempts as (
    select
        * exclude (attempts),
        generate_subscripts(attempts, 1) as place,
        place = len(attempts) as is_final,
        unnest(attempts) as attempt,
    from requested
)

select
    load_id, seq,
    if(is_final, attempt_count, place) as attempt_no,
    kind, entity_id,
    case
        when not is_final then 'retried'
        when verdict = 'missing' then 'not_found'
        else verdict
    end as outcome,
    attempt.reason as reason, attempt.http_status as http_status, attempt.ms as duration_ms,
    attempt.bytes as response_bytes, attempt_count, is_final as is_final_attempt, observed_at as fetched_at,
from attempts
