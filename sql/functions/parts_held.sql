-- parts_held(line): which parts of workings.formula_parts a line of workings.order_line_sums holds, as
-- bits: of part_no 1 the lowest.
if(line.quantity <> 1 and line.price <> 0, 1, 0)
| if(line.has_modifiers, 2, 0)
| if(line.quantity <> 1 and line.has_modifiers, 4, 0)
| if(line.has_own, 8, 0)
| if(line.has_other, 16, 0)
