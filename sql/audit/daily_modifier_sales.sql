-- One row per business day, sale class, currency, product, modifier and action; the product's lines are one, too.
--
-- A step: read mart.modifier_attach_rates instead.
-- Source: mart.order_lines and mart.order_line_modifiers.
--
-- key: business_date, sale_class, currency, product_id, unnamed_product, is_modifier, modifier_id, unnamed_modifier, action
-- scope: day
--
-- unnamed_product VARCHAR null: The line's name in place of an id; null with one.
-- is_modifier BOOLEAN: Whether it counts modifiers; if not, lines of the product.
-- modifier_id: The modifier; null for lines, and if it has no id.
-- unnamed_modifier VARCHAR null: The modifier's name in place of an id; null with one.
-- product_name: The alphabetically last name of the product's lines.
-- modifier_name: The alphabetically last name of the modifier.
-- item_count: Number of lines, or of modifiers.
-- line_count: Number of lines, or of lines with the modifier.
-- modifier_amount: Sum of the modifier amounts; null if none has one.
-- unvalued_count: Number of lines, or of modifiers without an amount.

-- lines, which have no modifier, and modifiers, by id or else by name
with items as not materialized (
    select
        business_date, sale_class, currency, product_id,
        name as product_name,
        false as is_modifier,
        cast(null as bigint) as modifier_id,
        cast(null as varchar) as modifier_name,
        cast(null as varchar) as action,
        false as is_repeated,
        cast(null as bigint) as menu_entry_count,
        cast(null as decimal(38, 4)) as modifier_amount,
    from mart.order_lines

    union all

    select
        business_date, sale_class, currency, product_id, product_name,
        true as is_modifier,
        modifier_id,
        name as modifier_name,
        action, is_repeated, menu_entry_count, modifier_amount,
    from mart.order_line_modifiers
)

select
    business_date,
    sale_class,
    currency,
    product_id,
    if(product_id is null, product_name, null) as unnamed_product,
    is_modifier,
    modifier_id,
    if(modifier_id is null, modifier_name, null) as unnamed_modifier,
    action,
    -- names
    max(product_name) as product_name,
    max(modifier_name) as modifier_name,
    -- quantities
    count(*) as item_count,
    count(*) filter (where not is_repeated) as line_count,
    count(*) filter (where not is_repeated and menu_entry_count = 1)
        as unique_line_count,
    count(*) filter (where not is_repeated and menu_entry_count > 1)
        as ambiguous_line_count,
    -- money
    sum(modifier_amount) as modifier_amount,
    count(*) - count(modifier_amount) as unvalued_count,
from items
group by
    business_date, sale_class, currency, product_id, unnamed_product, is_modifier,
    modifier_id, unnamed_modifier, action
