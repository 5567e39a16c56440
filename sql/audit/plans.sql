-- One row per nightly plan: what it requested again, and what its random sample and its gap probe found.
--
-- Source: the inbox, which keeps each plan with its results. It is a log: a rebuild cannot recompute it. A plan that
-- requested nothing has no row.
-- Caveats: the rate is of old orders that nothing else requested, and counts only changes without a webhook
-- notification; its bounds are the exact ones of Clopper and Pearson (Biometrika 26, 1934). Result columns are null if
-- the run was stopped before they were known.
--
-- key: plan_no
--
-- plan_no BIGINT >= 1: Number of the plan, from 1.
-- planned_at TIMESTAMPTZ: When it was made.
-- due_count BIGINT >= 0: Known orders that were due by their age and requested again.
-- over_budget_count BIGINT >= 0: Due orders left out by [planner] request_budget.
-- population_count BIGINT >= 0: Old orders that nothing else requested; the sample is drawn from them.
-- sampled_count BIGINT >= 0: Orders drawn at random from the population.
-- checked_count BIGINT null >= 0: Sampled orders for which the service returned a document.
-- changed_count BIGINT null >= 0: Checked orders that had changed without a notification.
-- not_found_count null: Sampled orders that the service no longer has (404).
-- changed_rate DOUBLE null: changed_count / checked_count; null if none was checked.
-- changed_rate_low DOUBLE null: Lower confidence bound of that rate in the population.
-- changed_rate_high DOUBLE null: Upper confidence bound of that rate in the population.
-- confidence_level DOUBLE null: Confidence level of the bounds, such as 0.95.
-- gap_requested_count BIGINT >= 0: Ids between known ones that were requested.
-- gap_found_count BIGINT null >= 0: Requested gap ids that exist.
-- gap_unnotified_count BIGINT null >= 0: Found gap ids that no webhook had named.
select
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
