-- How many changes of old orders are missed?
from audit.plans
order by plan_no desc
