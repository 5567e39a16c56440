-- basis_of(population): why its rule is in force; null if it has none.
case
    when population.configured_rule is not null then 'configured'
    when population.rule is null then null
    when population.verdict = 'supported' then 'supported'
    else 'agreed'
end
