-- Which values of coded fields occur?
from audit.vocabulary
order by kind, path, document_count desc, value
