-- smallest_unit(currency, amount): the unit in which amounts are stated: the currency's
-- smallest, or of an unknown currency the unit that the amount needs.
case currency_digits(currency)
    when 0 then cast(1 as decimal(5, 4))
    when 2 then 0.01
    when 3 then 0.001
    when 4 then 0.0001
    else case
        when amount % 1 = 0 then 1
        when amount % 0.1 = 0 then 0.1
        when amount % 0.01 = 0 then 0.01
        when amount % 0.001 = 0 then 0.001
        else 0.0001
    end
end
