-- share_of(amount, part, whole, unit): amount * part / whole in whole units, rounded towards
-- zero; all of the amount where the part is the whole. Exact, for 0 <= part <= whole, whole
-- above 0 and below 10^15. Amounts of common size are several times faster in 64 bits.
case
    when part = whole then amount
    when abs(amount) < 100000 and whole < 100000 then
        cast(
            cast(cast(amount as decimal(13, 4)) * 10000 as bigint)
            * cast(cast(part as decimal(13, 4)) * 10000 as bigint)
            // (cast(cast(whole as decimal(13, 4)) * 10000 as bigint) * cast(unit * 10000 as bigint)) as decimal(18, 0)
        ) * unit
    else cast(
        cast(cast(amount as decimal(38, 4)) * 10000 as hugeint)
        * cast(cast(part as decimal(38, 4)) * 10000 as hugeint)
        // (cast(cast(whole as decimal(38, 4)) * 10000 as hugeint) * cast(unit * 10000 as hugeint)) as decimal(30, 0)
    ) * unit
end
