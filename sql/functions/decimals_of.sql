-- decimals_of(amount): how many decimals an amount needs, 0 to 4; most need at most two.
case
    when amount % 0.01 = 0 then case
        when amount % 0.1 <> 0 then 2
        when amount % 1 <> 0 then 1
        else 0
    end
    when amount % 0.001 = 0 then 3
    when amount is not null then 4
end
