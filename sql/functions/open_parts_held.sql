-- open_parts_held(population, holds): the parts on which candidates of a population differ and that an order holds;
-- of an order whose parts are not all known any of them may be held.
if(
    population.configured_rule is not null,
    [],
    list_filter(population.open_parts, lambda part: coalesce(holds[part] = '1', true))
)
