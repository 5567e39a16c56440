-- What was loaded when?
from audit.loads
order by started_at desc nulls last, load_id desc
limit 20
