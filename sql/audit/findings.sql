-- One row per violation of a check that warns.
select
    check_name,
    table_name,
    entity_id,
    location,
    residual,
    detail,
from raw.findings
