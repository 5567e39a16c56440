-- divided(amount, number): the amount by a whole number, to four decimals, half away from
-- zero; null by zero. Exact: DuckDB's own division passes through a float.
cast(
    if((amount < 0) <> (number < 0), -1, 1) * (
        (
            2 * abs(cast(cast(amount as decimal(38, 4)) * 10000 as hugeint)) + abs(cast(number as hugeint))
        ) // nullif(2 * abs(cast(number as hugeint)), 0)
    ) as decimal(34, 0)
) * cast(0.0001 as decimal(4, 4))
