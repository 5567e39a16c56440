-- One row per part of the warehouse that was verified: what was proven, and when.
select
    -- keys
    verification_no,
    -- what was compared
    part,
    first_order_id,
    last_order_id,
    business_date,
    order_count,
    table_count,
    -- what came of it
    difference_count = 0 as is_proven,
    difference_count,
    first_difference,
    -- a part is proven again each time the rotation reaches it
    row_number() over (
        partition by part, first_order_id, business_date
        order by verified_at desc, verification_no desc
    ) = 1 as is_latest,
    -- when, and at what cost
    verified_at,
    duration_ms,
    release_id,
from raw.verifications
