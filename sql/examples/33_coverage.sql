-- What was announced, ingested and not found, by store and day?
from audit.coverage
order by business_date desc nulls last, store_id
limit 100
