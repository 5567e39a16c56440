-- One row per order line: product, quantity, and its amount if a rule values it.
--
-- Source: workings.order_line_sums (every line of core.order_lines), mart.orders and audit.order_rules.
-- Caveats: quantities are always safe to add. Amounts need line_rule of audit.order_rules, by evidence or [formula], and
-- include modifiers as it counts them; lines that all rules which remain value alike have one though the subtotal has no
-- rule. Tips and delivery belong to no line; the difference to
-- the subtotal is unallocated_amount of mart.daily_reconciliations.
--
-- key: order_id, line_no
-- scope: order
-- join mart.products (product_id): a line has its product's names and menus
-- join multiplies mart.order_line_modifiers (order_id, line_no): a line has several modifiers
--
-- name: The product's name when ordered.
-- price: The price of the line's product, as sent: per unit or per line, as the rule says.
-- unit_price DECIMAL(38,4) null not additive: The price of one unit without modifiers: price, or where the rule has it per line, price by quantity to four decimals. Null if that is open and quantity is not 1.
-- modifiers_amount DECIMAL(38,4) null: The part of line_amount that modifiers make, before rounding; see mart.order_line_modifiers. Null without an amount.
-- line_amount: The line's amount under the rule of its order's lines, rounded if the rule rounds lines; null for missing_amount_reason.
-- discount_share DECIMAL(38,4) null: The line's share of the order's discount, in proportion to line_amount, in units of the currency: the shares of an order add up to it. 0 if the discount is 0; else null if a line has no amount or one below zero, or all are zero. An apportionment: the source states no discount by line.
-- missing_amount_reason: Why there is no amount. no_rule: every candidate is refuted. missing_input: the line or a modifier lacks a price or a quantity, or has one beyond a million. undecided: candidates remain that value what the line holds differently. Null where there is one.
with rules as (
    select
        rule,
        rule_parameters[1] = 1 as is_price_alone,
        rule_parameters[2] = 0 as is_without,
        rule_parameters[3] = 0 as is_per_unit,
        rule_parameters[4] = 0 as is_own,
        case rule_parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
        if(rounded_per in ('line', 'unit'), rounding_mode, null) as mode,
        rounded_per = 'unit' as is_rounded_per_unit,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 4)) as unit,
    from audit.formula_rules where rule_target = 'subtotal'
),
orders as (
    select
        order_id, store_id, business_date, sale_class, store_name, currency, discount,
        smallest_unit(currency, discount) as smallest,
    from mart.orders
),
in_force as (
    select
        order_rules.order_id,
        order_rules.line_rule is not null as has_rule,
        -- of part_no 1 the lowest bit; none: zero
        list_bit_or([0] || [1 << (part - 1) for part in line_open_parts]) as open_parts,
        rules.* exclude (rule),
    from audit.order_rules as order_rules left join rules on order_rules.line_rule = rules.rule
),
lines as (
    select
        in_force.* exclude (order_id),
        sums.*,
        case
            when quantity = 1 then price
            -- whether it is of a unit or of the line is open
            when not has_rule or open_parts & 1 <> 0 then null
            when is_price_alone then cast(divided(price, quantity) as decimal(18, 4))
            else price
        end as unit_price,
        -- most are sold once: nothing to multiply
        if(
            is_price_alone or quantity = 1, sums.price, cast(sums.price as decimal(38, 4)) * quantity
        ) as product_amount,
        -- the modifiers' amount under the rule, by unit or by line; most are added
        if(is_own, sums.add_own, sums.add_once) + if(
            sums.has_other, sign * if(is_own, sums.other_own, sums.other_once), 0
        ) as added,
        case
            when not has_rule or not sums.is_whole then null
            -- what candidates that remain treat differently
            when open_parts <> 0 and open_parts & parts_held(sums) <> 0 then null
            when is_without or not sums.has_modifiers then product_amount
            else product_amount + if(is_per_unit and sums.quantity <> 1, sums.quantity * added, added)
        end as exact,
        if(is_rounded_per_unit, cast(sums.price as decimal(38, 4)) + if(is_without, 0, added), null) as per_unit,
    from workings.order_line_sums as sums inner join in_force using (order_id)
),
valued as (
    select
        *,
        cast(
            case
                when mode is null or exact is null then exact
                when is_rounded_per_unit then rounded(per_unit, mode, unit) * quantity
                else rounded(exact, mode, unit)
            end as decimal(38, 4)
        ) as line_amount,
        cast(exact - product_amount as decimal(38, 4)) as modifiers_amount,
    from lines
),
-- shares are those of the lines so far, less those before: they add up to the discount;
-- sorting wide rows takes long, so what can be joined or told afterwards comes later
apportioned as (
    select
        *,
        sum(line_amount) over (partition by order_id order by line_no rows unbounded preceding) as so_far,
        -- a line without an amount, or with one below zero: more than can be shared by
        sum(if(line_amount >= 0, line_amount, 1000000000000000)) over (partition by order_id) as whole,
    from valued
)

select
    lines.order_id, lines.line_no, orders.store_id, orders.business_date, orders.sale_class, lines.product_id,
    orders.store_name, lines.name, lines.quantity, lines.modifier_count, orders.currency, lines.price,
    cast(lines.unit_price as decimal(38, 4)) as unit_price,
    lines.modifiers_amount, lines.line_amount,
    cast(
        case
            when discount = 0 then 0
            when whole > 0 and whole < 1000000000000000 then
                share_of(discount, so_far, whole, smallest) - share_of(discount, so_far - line_amount, whole, smallest)
        end as decimal(38, 4)
    ) as discount_share,
    case
        when lines.line_amount is not null then null
        when not lines.has_rule then 'no_rule'
        when not lines.is_whole then 'missing_input'
        else 'undecided'
    end as missing_amount_reason,
from apportioned as lines
inner join orders using (order_id)
