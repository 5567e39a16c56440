-- Which formula is in force, and how many orders support it?
select
    rule_target,
    scope,
    verdict,
    rule,
    order_count,
    fit_count,
    distinguishing_order_count,
from audit.formula_populations
order by rule_target, population_no
