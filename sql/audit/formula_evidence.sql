-- One row per population, candidate form and part that orders hold: how many of them fit.
--
-- The orders behind a figure are those of audit.order_rules of the population that hold
-- the part, if any; character form_no of their fits says whether the form fits them.
select
    -- keys
    evidence.rule_target,
    evidence.population_no,
    evidence.form_no,
    evidence.part_no,
    -- in words
    populations.scope,
    forms.form,
    forms.form_description,
    parts.part,
    -- the answer
    evidence.is_leader,
    evidence.is_refuted,
    -- how many orders
    evidence.order_count,
    evidence.fit_count,
    evidence.min_fit_count,
from raw.formula_evidence as evidence
inner join audit.formula_populations as populations
    on evidence.rule_target = populations.rule_target
    and evidence.population_no = populations.population_no
inner join audit.formula_forms as forms
    on evidence.rule_target = forms.rule_target
    and evidence.form_no = forms.form_no
left join audit.formula_parts as parts
    on evidence.rule_target = parts.rule_target
    and evidence.part_no = parts.part_no
