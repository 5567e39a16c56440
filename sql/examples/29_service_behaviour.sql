-- How does the service behave: codes, limits, waits?
from audit.service_behaviour
order by operation, aspect, name
