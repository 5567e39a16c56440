-- One row per sale class, currency, product or line name, modifier and action: on which share of lines it is.
--
-- Caveats: a line counts once however often it has the modifier. Those without an id are distinguished by name.
-- attach_rate is the sum of the other three: unmatched ones are modifiers that no menu observed explains, so
-- a rate of unique ones alone is the least that can be said. Rates do not add up over modifiers: a line has several.
--
-- key: sale_class, currency, product_id, product_name, modifier_id, modifier_name, action
--
-- product_name VARCHAR null: The product's latest name on order lines; without an id the line's name.
-- modifier_name VARCHAR null: The modifier's latest name on orders; without an id its name.
-- line_count BIGINT >= 1: Number of lines of the product, with the modifier or without.
-- attached_line_count BIGINT >= 0: Number of those lines with the modifier.
-- unique_line_count BIGINT >= 0: Of them, lines whose modifier is one entry of the store's menus at the time, or as first seen later: menu_entry_count of mart.price_variances.
-- ambiguous_line_count BIGINT >= 0: Of them, lines whose modifier is several entries of them.
-- unmatched_line_count BIGINT >= 0: Of them, lines whose modifier is on none of them, or whose menus were not known.
-- attach_rate DOUBLE >= 0 <= 1: attached_line_count by line_count.
-- modifier_count BIGINT >= 1: Number of modifiers, repeated ones too.
-- modifier_amount DECIMAL(38,4) null: Sum of their amounts by the rule in force; null if none has one.
-- unvalued_count BIGINT >= 0: Number of modifiers without an amount; above 0, modifier_amount is incomplete.

-- the latest name counts; days that are not known come first
with lines as (
    select
        sale_class, currency, product_id,
        if(product_id is null, name, null) as unnamed_product,
        arg_max(name, (coalesce(business_date, cast('-infinity' as date)), name)) as product_name,
        count(*) as line_count,
    from mart.order_lines
    group by sale_class, currency, product_id, unnamed_product
),

modifiers as (
    select
        sale_class, currency, product_id, modifier_id, action,
        if(product_id is null, product_name, null) as unnamed_product,
        if(modifier_id is null, name, null) as unnamed_modifier,
        arg_max(name, (coalesce(business_date, cast('-infinity' as date)), name)) as modifier_name,
        count(*) filter (where not is_repeated) as attached_line_count,
        count(*) filter (where not is_repeated and menu_entry_count = 1) as unique_line_count,
        count(*) filter (where not is_repeated and menu_entry_count > 1) as ambiguous_line_count,
        count(*) as modifier_count,
        sum(modifier_amount) as modifier_amount,
        count(*) - count(modifier_amount) as unvalued_count,
    from mart.order_line_modifiers
    group by
        sale_class, currency, product_id, modifier_id, action, unnamed_product, unnamed_modifier
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
    modifiers.attached_line_count,
    modifiers.unique_line_count,
    modifiers.ambiguous_line_count,
    attached_line_count - unique_line_count - ambiguous_line_count as unmatched_line_count,
    modifiers.attached_line_count / lines.line_count as attach_rate,
    modifiers.unique_line_count / lines.line_count as unique_attach_rate,
    modifiers.ambiguous_line_count / lines.line_count as ambiguous_attach_rate,
    unmatched_line_count / lines.line_count as unmatched_attach_rate,
    -- sales
    modifiers.modifier_count,
    modifiers.modifier_amount,
    modifiers.unvalued_count,
from modifiers
inner join lines
    on modifiers.sale_class = lines.sale_class
    and modifiers.currency is not distinct from lines.currency
    and modifiers.product_id is not distinct from lines.product_id
    and modifiers.unnamed_product is not distinct from lines.unnamed_product
