-- round_amount(amount, decimals, is_half_even): an amount rounded to 0 to 3 decimals,
-- half up or half even; unchanged if decimals is null.
--
-- Casts keep four decimals: each round() has a type of its own. Half even differs from
-- half up only for amounts halfway above an even multiple.
case decimals
    when 0
        then cast(round(amount) as decimal(38, 4))
            - if(is_half_even and abs(amount) % 2 = 0.5, sign(amount), 0)
    when 1
        then cast(round(amount, 1) as decimal(38, 4))
            - if(is_half_even and abs(amount) % 0.2 = 0.05, sign(amount) * 0.1, 0)
    when 2
        then cast(round(amount, 2) as decimal(38, 4))
            - if(is_half_even and abs(amount) % 0.02 = 0.005, sign(amount) * 0.01, 0)
    when 3
        then cast(round(amount, 3) as decimal(38, 4))
            - if(is_half_even and abs(amount) % 0.002 = 0.0005, sign(amount) * 0.001, 0)
    else amount
end
