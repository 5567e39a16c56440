-- added_by(rule, line): what a subtotal rule has the modifiers of a line of audit.order_line_sums
-- add, by unit or by line; most are added.
if(rule.is_own, line.add_own, line.add_once)
+ if(line.has_other, rule.sign * if(rule.is_own, line.other_own, line.other_once), 0)
