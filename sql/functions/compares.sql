-- compares(number, operator, value): whether a number compares so with one that is written out.
case operator
    when '=' then number = try_cast(value as decimal(18, 4))
    when '!=' then number <> try_cast(value as decimal(18, 4))
    when '<' then number < try_cast(value as decimal(18, 4))
    when '<=' then number <= try_cast(value as decimal(18, 4))
    when '>' then number > try_cast(value as decimal(18, 4))
    when '>=' then number >= try_cast(value as decimal(18, 4))
end
