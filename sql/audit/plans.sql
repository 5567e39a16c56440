-- One row per nightly plan: what it requested again, its sample and its gap probe.
select
    -- keys
    plan_no,
    -- what was planned
    planned_at,
    due as due_count,
    left_out as over_budget_count,
    -- the sample: how many changes are missed
    population as population_count,
    sampled as sampled_count,
    checked as checked_count,
    changed as changed_count,
    missing as not_found_count,
    if(checked > 0, changed / checked, null) as changed_rate,
    if(checked > 0, share_low, null) as changed_rate_low,
    if(checked > 0, share_high, null) as changed_rate_high,
    confidence as confidence_level,
    -- the gap probe
    gap_requested_count,
    gap_found_count,
    gap_unnotified_count,
from raw.plans
