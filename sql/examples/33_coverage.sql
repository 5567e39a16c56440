-- What was announced, ingested and not found, by store and day?
select
    store_id,
    business_date,
    id_count,
    known_count,
    not_found_count,
    failed_count,
    completeness,
from audit.coverage
order by business_date desc nulls last, store_id
limit 100
