-- Every payload of a load has exactly one verdict.
-- severity: blocking
select
    cast(null as bigint) as entity_id, load_id as location,
    accepted_count + unchanged_count + quarantined_count + not_found_count
        + failed_count || ' verdicts, ' || payload_count || ' rows, '
        || received_count || ' received' as detail,
from audit.loads
where
    accepted_count + unchanged_count + quarantined_count + not_found_count + failed_count <> payload_count
    or payload_count <> received_count
    or payload_count <> validated_count
