-- missing_reason(amount, has_rule, is_whole): why a line or a modifier has no amount; null if it
-- has one.
case
    when amount is not null then null
    when not has_rule then 'no_rule'
    when not is_whole then 'missing_input'
    else 'undecided'
end
