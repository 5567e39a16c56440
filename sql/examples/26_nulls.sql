-- Which fields are null or absent, and how often?
from audit.field_profile
where null_document_count > 0 or absent_document_count > 0
order by kind, path
