-- rounded(amount, mode, unit): the amount in whole units; mode is down (towards zero),
-- up (away from zero), half_up (a half away from zero) or half_even. Exact: no amount passes through a float.
amount - amount % unit + if(
    mode <> 'down'
    and (
        (mode = 'up' and amount % unit <> 0)
        or abs(amount % unit) + abs(amount % unit) > unit
        or (
            abs(amount % unit) + abs(amount % unit) = unit
            and (mode = 'half_up' or (amount - amount % unit) % (unit + unit) <> 0)
        )
    ),
    if(amount < 0, -unit, unit),
    0
)
