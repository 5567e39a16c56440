-- One row per control total that stands: what was stated of a store's day, and what our orders come to.
with

totals as (
    select
        entry_no,
        imported_at,
        business_date,
        store_id,
        orders,
        amount,
        money_part,
        sale_classes,
        string_split(sale_classes, '+') as classes,
    from raw.control_totals
),

orders as (
    select
        store_id,
        business_date,
        sale_class,
        subtotal_price,
        delivery_price,
        tip,
        discount,
        loyalty_discount,
        total_price,
    from mart.orders
),

stores as (
    select store_id from core.stores
),

held as (
    select
        totals.business_date,
        totals.store_id,
        totals.money_part,
        totals.sale_classes,
        -- an order counts where the total counts its class
        list_contains(totals.classes, orders.sale_class) as counts,
        orders.sale_class,
        case totals.money_part
            when 'subtotal_price' then orders.subtotal_price
            when 'delivery_price' then orders.delivery_price
            when 'tip' then orders.tip
            when 'discount' then orders.discount
            when 'loyalty_discount' then orders.loyalty_discount
            when 'total_price' then orders.total_price
        end as part,
    from totals
    inner join orders
        on totals.store_id = orders.store_id
        and totals.business_date = orders.business_date
),

sums as (
    select
        business_date,
        store_id,
        money_part,
        sale_classes,
        count(*) filter (where counts) as orders,
        count(*) filter (where counts and part is null) as orders_lacking_the_part,
        count(*) filter (where not counts and sale_class = 'unmapped') as orders_unmapped,
        sum(part) filter (where counts) as amount,
    from held
    group by business_date, store_id, money_part, sale_classes
),

compared as (
    select
        totals.business_date,
        totals.store_id,
        totals.money_part,
        totals.sale_classes,
        totals.orders as orders_stated,
        totals.amount as amount_stated,
        -- no order of that day and store: zero of them, and zero money
        coalesce(sums.orders, 0) as orders_held,
        if(coalesce(sums.orders, 0) = 0, cast(0 as decimal(38, 4)), sums.amount) as amount_held,
        coalesce(sums.orders_lacking_the_part, 0) as orders_lacking_the_part,
        coalesce(sums.orders_unmapped, 0) as orders_unmapped,
        case
            when sums.store_id is null and stores.store_id is null then 'store_unknown'
            when sums.orders_unmapped > 0 then 'orders_unmapped'
            when totals.amount is not null and sums.orders_lacking_the_part > 0 then 'part_not_stated'
        end as why_unknown,
        totals.entry_no,
        totals.imported_at,
    from totals
    left join sums
        on totals.business_date = sums.business_date
        and totals.store_id = sums.store_id
        and totals.money_part = sums.money_part
        and totals.sale_classes = sums.sale_classes
    left join stores on totals.store_id = stores.store_id
)

select
    -- keys
    business_date,
    store_id,
    money_part,
    sale_classes,
    -- what came of comparing
    case
        when why_unknown is not null then 'unknown'
        when coalesce(orders_held = orders_stated, true) and coalesce(amount_held = amount_stated, true) then 'equal'
        else 'different'
    end as comparison,
    why_unknown,
    -- orders
    orders_stated,
    orders_held,
    orders_held - orders_stated as orders_difference,
    orders_lacking_the_part,
    orders_unmapped,
    -- money
    amount_stated,
    amount_held,
    amount_held - amount_stated as amount_difference,
    -- lineage
    entry_no,
    imported_at,
from compared
