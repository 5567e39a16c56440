-- follows(found, amounts, stated, residual, unit): whether what a rule leaves of an amount follows a pattern of
-- audit.formula_populations.
case found.residual_kind
    when 'zero' then stated = 0
    when 'negated' then residual = 2 * stated
    when 'unit' then abs(residual) <= unit
    when 'constant' then abs(residual - found.residual_value) < unit
    when 'step' then stated % cast(found.residual_value as decimal(18, 4)) = 0 and abs(residual) < found.residual_value
    else abs(residual - list_transform(
        [cast(found.residual_value * base_of(amounts, found.residual_base) as decimal(38, 8))], lambda part: if(
            (abs(part) > abs(found.residual_bound)) = (found.residual_kind = 'at_most'), found.residual_bound, part
        )
    )[1]) <= unit
end
