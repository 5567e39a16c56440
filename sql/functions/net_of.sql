-- net_of(amount, factor): an amount of prices that are so many times what is stated, as that
-- would be: by the factor, to eight decimals, half away from zero. Exact.
if(
    factor = 1,
    cast(amount as decimal(38, 8)),
    cast(
        divided(
            cast(amount as decimal(29, 4)) * 100000000, cast(factor * 10000 as hugeint)
        ) * cast(0.0001 as decimal(4, 4)) as decimal(38, 8)
    )
)
