-- Every body of a load ends as exactly one verdict.
-- severity: blocking
select
    cast(null as bigint) as entity_id,
    load_id as location,
    accepted + unchanged + quarantined + missing + failed || ' verdicts, '
        || bodies || ' rows, '
        || places || ' places' as detail,
from audit.loads
where
    accepted + unchanged + quarantined + missing + failed <> bodies
    or bodies <> places
    or bodies <> validated_count
