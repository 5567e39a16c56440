-- Which values of coded fields occur?
select
    kind,
    path,
    value,
    document_count,
    first_seen_at,
    last_seen_at,
from audit.vocabulary
order by kind, path, document_count desc, value
