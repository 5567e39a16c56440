-- modifiers_that_fit(rest, allowance, added): which of 13 ways to count modifiers come to the
-- rest: bit modifier_no + 4 * action_no of workings.formula_forms. `added` holds what each adds;
-- without modifiers of other actions, which is common, the three actions add the same.
cast(
    if(abs(rest) <= allowance, 1, 0)
    | if(
        added.is_only_added,
        if(abs(rest - added.add_own_unit) <= allowance, 2 | 32 | 512, 0)
        | if(abs(rest - added.add_unit) <= allowance, 4 | 64 | 1024, 0)
        | if(abs(rest - added.add_own) <= allowance, 8 | 128 | 2048, 0)
        | if(abs(rest - added.add_once) <= allowance, 16 | 256 | 4096, 0),
        if(abs(rest - added.all_own_unit) <= allowance, 2, 0)
        | if(abs(rest - added.all_unit) <= allowance, 4, 0)
        | if(abs(rest - added.all_own) <= allowance, 8, 0)
        | if(abs(rest - added.all_once) <= allowance, 16, 0)
        | if(abs(rest - added.add_own_unit) <= allowance, 32, 0)
        | if(abs(rest - added.add_unit) <= allowance, 64, 0)
        | if(abs(rest - added.add_own) <= allowance, 128, 0)
        | if(abs(rest - added.add_once) <= allowance, 256, 0)
        | if(abs(rest - added.less_own_unit) <= allowance, 512, 0)
        | if(abs(rest - added.less_unit) <= allowance, 1024, 0)
        | if(abs(rest - added.less_own) <= allowance, 2048, 0)
        | if(abs(rest - added.less_once) <= allowance, 4096, 0)
    ) as bigint
)
