-- signs_that_fit(rest, allowance, a, b): which of nine sign combinations of two parts come
-- to the rest: bit 3 x + y, where x is the place of a's sign among -, 0, + and y that of b's.
-- Where b is zero, which is common, its signs are alike.
cast(
    if(
        b = 0,
        if(abs(rest + a) <= allowance, 1 | 2 | 4, 0)
        | if(abs(rest) <= allowance, 8 | 16 | 32, 0)
        | if(abs(rest - a) <= allowance, 64 | 128 | 256, 0),
        if(abs(rest + a + b) <= allowance, 1, 0)
        | if(abs(rest + a) <= allowance, 2, 0)
        | if(abs(rest + a - b) <= allowance, 4, 0)
        | if(abs(rest + b) <= allowance, 8, 0)
        | if(abs(rest) <= allowance, 16, 0)
        | if(abs(rest - b) <= allowance, 32, 0)
        | if(abs(rest - a + b) <= allowance, 64, 0)
        | if(abs(rest - a) <= allowance, 128, 0)
        | if(abs(rest - a - b) <= allowance, 256, 0)
    ) as bigint
)
