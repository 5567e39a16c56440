-- What was proven equal to a full rebuild, and when?
select
    part,
    business_date,
    first_order_id,
    last_order_id,
    is_proven,
    verified_at,
from audit.verifications
where is_latest
order by verified_at desc, part
