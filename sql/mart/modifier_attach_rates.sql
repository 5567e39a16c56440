-- One row per sale class, currency, product or line name, modifier and action: on which share of lines it is.
--
-- Source: mart.order_lines, mart.order_line_modifiers and mart.price_variances, over all business days.
-- Caveats: a line counts once however often it has the modifier. Those without an id are distinguished by name.
-- attach_rate is the sum of the other three: unmatched ones are modifiers that no menu observed explains, so
-- a rate of unique ones alone is the least that can be said. Rates do not add up over modifiers: a line has several.
--
-- key: sale_class, currency, product_id, product_name, modifier_id, modifier_name, action
--
-- product_name: The product's latest name on order lines; without an id the line's name.
-- modifier_name: The modifier's latest name on orders; without an id its name.
-- line_count >= 1: Number of lines of the product, with the modifier or without.
-- attached_line_count BIGINT >= 0: Number of those lines with the modifier.
-- unmatched_line_count BIGINT >= 0: Of them, lines whose modifier is on none of them, or whose menus were not known: menu_entry_count of mart.price_variances.
-- attach_rate DOUBLE >= 0 <= 1: attached_line_count by line_count.
-- unique_attach_rate DOUBLE >= 0 <= 1: unique_line_count by line_count.
-- ambiguous_attach_rate DOUBLE >= 0 <= 1: ambiguous_line_count by line_count.
-- unmatched_attach_rate DOUBLE >= 0 <= 1: unmatched_line_count by line_count.
-- modifier_count >= 1: Number of modifiers, repeated ones too.
-- modifier_amount: Sum of their amounts by the rule in force; null if none has one.
-- unvalued_count: Number of modifiers without an amount; above 0, modifier_amount is incomplete.
with items as (
    select
        sale_class, currency, product_id, unnamed_product, is_modifier, modifier_id,
        unnamed_modifier, action,
        -- the latest; days that are not known come first
        arg_max(
            product_name,
            (coalesce(business_date, cast('-infinity' as date)), product_name)
        ) as product_name,
        arg_max(
            modifier_name,
            (coalesce(business_date, cast('-infinity' as date)), modifier_name)
        ) as modifier_name,
        cast(sum(item_count) as bigint) as item_count,
        cast(sum(line_count) as bigint) as line_count,
        cast(sum(unique_line_count) as bigint) as unique_line_count,
        cast(sum(ambiguous_line_count) as bigint) as ambiguous_line_count,
        sum(modifier_amount) as modifier_amount,
        cast(sum(unvalued_count) as bigint) as unvalued_count,
    from audit.daily_modifier_sales
    group by
        sale_class, currency, product_id, unnamed_product, is_modifier, modifier_id,
        unnamed_modifier, action
)

select
    modifiers.sale_class,
    modifiers.currency,
    modifiers.product_id,
    coalesce(modifiers.unnamed_product, lines.product_name) as product_name,
    modifiers.modifier_id,
    coalesce(modifiers.unnamed_modifier, modifiers.modifier_name) as modifier_name,
    modifiers.action,
    -- lines of the product, and those with the modifier
    lines.line_count,
    modifiers.line_count as attached_line_count,
    modifiers.unique_line_count,
    modifiers.ambiguous_line_count,
    modifiers.line_count - modifiers.unique_line_count - modifiers.ambiguous_line_count
        as unmatched_line_count,
    modifiers.line_count / lines.line_count as attach_rate,
    modifiers.unique_line_count / lines.line_count as unique_attach_rate,
    modifiers.ambiguous_line_count / lines.line_count as ambiguous_attach_rate,
    unmatched_line_count / lines.line_count as unmatched_attach_rate,
    -- sales
    modifiers.item_count as modifier_count,
    modifiers.modifier_amount,
    modifiers.unvalued_count,
from items as modifiers
inner join items as lines
    on modifiers.sale_class = lines.sale_class
    and modifiers.currency is not distinct from lines.currency
    and modifiers.product_id is not distinct from lines.product_id
    and modifiers.unnamed_product is not distinct from lines.unnamed_product
    and not lines.is_modifier
where modifiers.is_modifier
