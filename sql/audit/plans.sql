-- One row per night's plan: what was asked for again, and what its random sample and its gap probe showed.
select
    -- keys
    plan_no,
    -- what was planned
    planned_at,
    due,
    left_out,
    -- the sample: how many changes are missed
    population,
    sampled,
    checked,
    changed,
    missing,
    if(checked > 0, changed / checked, null) as changed_share,
    if(checked > 0, share_low, null) as changed_share_low,
    if(checked > 0, share_high, null) as changed_share_high,
    confidence,
    -- the gap probe
    gap_requested_count,
    gap_found_count,
    gap_unnotified_count,
from raw.plans
