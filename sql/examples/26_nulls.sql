-- Which fields are null or absent, and how often?
select
    kind,
    path,
    document_count,
    null_document_count,
    absent_document_count,
from audit.field_profile
where null_document_count > 0 or absent_document_count > 0
order by kind, path
