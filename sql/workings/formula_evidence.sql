-- One row per population, candidate form and part that orders hold: how many orders it fits.
--
-- Source: audit.formula_populations. Of the forms: those that remain, the first, and those that fit most.
-- Caveats: the orders behind a figure are one join away: `from workings.formula_evidence as e join audit.order_rules as o
-- on o.total_population_no = e.population_no and (e.part_no is null or o.total_holds[e.part_no] = '1')` are all of
-- them, and `o.total_fits[e.form_no] = '0'` are those that do not fit; for the subtotal likewise.
--
-- key: rule_target, population_no, form_no, part_no
--
-- part_no: The part that the orders hold: workings.formula_parts; null for all orders.
-- part null: The part's name; null for all orders.
-- is_leader BOOLEAN: Whether it is the population's rule.
-- is_refuted BOOLEAN: Whether it fits too few orders, of all or of those that hold some part.
-- order_count >= 0
-- fit_count: How many of them it fits.
-- min_fit_count BIGINT null: With fewer it is refuted; null where orders are too few to refute.

-- The orders behind a figure are those of audit.order_rules of the population that hold
-- the part, if any; character form_no of their fits says whether the form fits them.
select
    evidence.rule_target, evidence.population_no, evidence.form_no, evidence.part_no, populations.scope,
    forms.form, forms.form_description, parts.part, evidence.is_leader, evidence.is_refuted,
    evidence.order_count, evidence.fit_count, evidence.min_fit_count,
from raw.formula_evidence as evidence
inner join audit.formula_populations as populations
    on evidence.rule_target = populations.rule_target and evidence.population_no = populations.population_no
inner join workings.formula_forms as forms
    on evidence.rule_target = forms.rule_target and evidence.form_no = forms.form_no
left join workings.formula_parts as parts
    on evidence.rule_target = parts.rule_target and evidence.part_no = parts.part_no
