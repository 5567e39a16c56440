-- What is new in the data?
from audit.schema_drift
order by first_seen_at desc nulls last, kind, path, change_type, value
