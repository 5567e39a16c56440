-- Which data break the interface's own rules?
select
    check_name,
    count(*) as violation_count,
    min(entity_id) as example_id,
from audit.findings
group by check_name
order by violation_count desc, check_name
