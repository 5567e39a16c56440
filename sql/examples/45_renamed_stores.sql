-- When was a store renamed, and when was it last listed?
from core.store_versions
order by store_id, version_no
