-- One row per modifier of an order line, with its amount by the rule in force.
--
-- Source: core.order_line_modifiers, mart.order_lines, mart.price_variances and the rule of the order's lines; a
-- blocking check adds a line's price and modifiers up to its line_amount.
-- Caveats: price times quantity is not the amount: the rule says whether a modifier counts once, per unit of its own
-- or per unit of the line. Amounts are part of line_amount: do not add the two. Where the rule rounds lines, they are
-- not rounded. Where it counts no modifiers, they are 0.
--
-- key: order_id, line_no, modifier_no
-- scope: order
-- join mart.order_lines (order_id, line_no): a modifier has its line; line_amount includes modifier_amount, and repeats: do not sum it
--
-- product_name: The product's name when ordered.
-- name: The modifier's name when ordered.
-- is_repeated BOOLEAN: Whether the line has the same modifier and action before it; without repeated ones, rows count lines.
-- menu_entry_count >= 0: How many entries of those menus offered it, as in mart.price_variances.
-- quantity: Quantity of the modifier, as sent.
-- line_quantity BIGINT null: Quantity of the line's product.
-- price: The modifier's price, as sent.
-- modifier_amount DECIMAL(38,4) null: What it adds to the line's amount by the rule in force; may be 0.
-- missing_amount_reason: Why there is no amount; null if there is one. no_rule: no rule holds. missing_input: price or a quantity is missing. undecided: rules that remain give other amounts.
with rules as (
    select
        rule,
        rule_parameters[2] = 0 as is_without,
        rule_parameters[3] = 0 as is_per_unit,
        rule_parameters[4] = 0 as is_own,
        case rule_parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
    from audit.formula_rules where rule_target = 'subtotal'
),
orders as (
    select
        in_force.order_id, in_force.line_rule, in_force.line_open_parts,
        rules.* exclude (rule),
    from audit.order_rules as in_force left join rules on in_force.line_rule = rules.rule
),
-- few lines have a modifier twice; a name stands for an id that is not stated
repeated as (
    select
        order_id, line_no, modifier_id,
        if(modifier_id is null, name, null) as unnamed,
        action, min(modifier_no) as first_no,
    from core.order_line_modifiers group by all having count(*) > 1
),
modifiers as (
    select
        lines.store_id, lines.business_date, lines.sale_class, lines.store_name, lines.product_id,
        lines.name as product_name, lines.quantity as line_quantity, lines.currency,
        orders.* exclude (order_id),
        modifiers.order_id, modifiers.line_no, modifiers.modifier_no, modifiers.modifier_id, modifiers.name,
        modifiers.action, modifiers.quantity, modifiers.price, variances.menu_match, variances.menu_entry_count,
        coalesce(modifiers.modifier_no > repeated.first_no, false) as is_repeated,
        -- as workings.order_line_sums: no action is an action not known, and products of
        -- quantities beyond a million would leave 38 digits
        coalesce(modifiers.action <> 'add', true) as is_other,
        coalesce(
            modifiers.price = 0
            or (
                modifiers.price is not null
                and modifiers.quantity between -1000000 and 1000000
                and lines.quantity between -1000000 and 1000000
            ),
            false
        ) as is_whole,
    from core.order_line_modifiers as modifiers
    inner join mart.order_lines as lines using (order_id, line_no)
    inner join orders using (order_id)
    inner join mart.price_variances as variances using (order_id, line_no, modifier_no)
    left join repeated
        on modifiers.order_id = repeated.order_id
        and modifiers.line_no = repeated.line_no
        and modifiers.modifier_id is not distinct from repeated.modifier_id
        and modifiers.action is not distinct from repeated.action
        and if(modifiers.modifier_id is null, modifiers.name, null)
        is not distinct from repeated.unnamed
),
valued as (
    select
        *,
        cast(
            case
                when line_rule is null or not is_whole then null
                when price = 0 then 0
                -- what candidates that remain treat differently
                when len(line_open_parts) > 0 and list_has_any(
                    line_open_parts,
                    [2, if(line_quantity <> 1, 3, null), if(quantity <> 1, 4, null), if(is_other, 5, null)]
                ) then null
                when is_without then 0
                else cast(price as decimal(38, 4))
                    * if(is_own, quantity, 1)
                    * if(is_per_unit, line_quantity, 1)
                    * if(is_other, sign, 1)
            end as decimal(38, 4)
        ) as modifier_amount,
    from modifiers
)

select
    order_id, line_no, modifier_no, store_id, business_date, sale_class, product_id, modifier_id, store_name,
    product_name, name, action, is_repeated, menu_match, menu_entry_count, quantity, line_quantity, currency,
    price, modifier_amount,
    case
        when modifier_amount is not null then null
        when line_rule is null then 'no_rule'
        when not is_whole then 'missing_input'
        else 'undecided'
    end as missing_amount_reason,
from valued
