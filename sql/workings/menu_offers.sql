-- One row per menu, product, modifier below it and interval: which prices the menu was seen to ask.
--
-- A step: read mart.price_variances instead.
-- Source: core.menu_price_versions, core.modifier_price_versions and core.modifier_paths. Rows without a modifier are
-- of the product itself; only those have delivery prices.
-- Caveats: intervals of observation: what a menu asked while nobody looked is what was last observed. Which modifiers
-- lie below a product is taken from the menu as it is now.
--
-- key: menu_id, product_id, modifier_id, offered_from
-- span: offered_from, offered_until
-- template: offers
--
-- product_id not null: The product, as the service numbers it.
-- modifier_id: The modifier, anywhere below the product; null for the product itself.
-- seen_at: When the last of the prices in force was first observed; null for an archive of unknown time.
-- menu_entry_count: How many entries of the menu offer it.

-- A row without a modifier is the product itself. Where a menu was seen to change is
-- where an interval ends: what it asked in between is what was last observed.
with edges as (
    select
        paths.product_id, edges.menu_id, edges.modifier_id, edges.price, edges.observed_from,
        edges.change_seen_at, edges.is_current, paths.menu_entry_count,
    from core.modifier_price_versions as edges
    -- below a modifier it stands as often as that one does
    inner join (
        select menu_id, product_id, modifier_id, count(*) as menu_entry_count,
        from core.modifier_paths where not is_cycle group by menu_id, product_id, modifier_id
    ) as paths
        on edges.parent_type = 'modifier'
        and edges.menu_id = paths.menu_id
        and edges.parent_id = paths.modifier_id
    union all
    select
        parent_id as product_id, menu_id, modifier_id, price, observed_from, change_seen_at, is_current,
        1 as menu_entry_count,
    from core.modifier_price_versions where parent_type = 'product'
),
asked as (
    select
        menu_id, product_id, price, delivery_price, observed_from, change_seen_at, is_current,
        1 as menu_entry_count,
    from core.menu_price_versions where product_id is not null
    union all by name
    select
        menu_id, product_id, modifier_id, price, observed_from, change_seen_at, is_current, menu_entry_count,
    from edges where modifier_id is not null
)

-- what was seen at an unknown time counts as seen before all, and is then replaced
select
    menu_id, product_id, modifier_id, menu_entry_count,
    coalesce(observed_from, cast('-infinity' as timestamptz)) as from_at,
    if(
        is_current, cast('infinity' as timestamptz), coalesce(change_seen_at, cast('-infinity' as timestamptz))
    ) as until_at,
    observed_from as seen_at,
    [cast(price as decimal(38, 4))] as prices,
    [cast(delivery_price as decimal(38, 4))] as delivery_prices,
from asked
