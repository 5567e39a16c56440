-- One row per effective control total: the stated and actual totals of a store-day.
--
-- Source: the ledger (`ordermart totals import`) and mart.orders. The latest import wins for each day, store, amount
-- field and set of sale classes. Variances are actual less control.
-- Caveats: several rows may cover the same orders, by field or by sale class: never add them. Variances are shown even
-- if tie_out_status is unknown, but prove nothing then. A day without orders is compared as zero.
--
-- key: business_date, store_id, amount_field, sale_classes
--
-- business_date not null: The business day of the total.
-- store_id not null: The store, as the service numbers it.
-- amount_field VARCHAR: The price field that the amount sums, such as total_price.
-- sale_classes VARCHAR: The sale classes that it covers, joined by +.
-- tie_out_status ENUM('tied', 'unknown', 'variance'): tied: the stated order count and amount equal the actual ones. variance: at least one differs. unknown: see unknown_reason.
-- unknown_reason ENUM('missing_amount', 'store_unknown', 'unmapped_orders') null: Why the totals cannot be compared; null if they were. store_unknown: the store has no record and no orders. unmapped_orders: the day has orders whose status [sales] does not map and which the total does not cover. missing_amount: covered orders lack the field.
-- control_order_count: The stated order count; null if not stated.
-- actual_order_count >= 0: Orders of these sale classes in mart.orders.
-- order_count_variance BIGINT null: actual_order_count less control_order_count.
-- missing_amount_order_count BIGINT >= 0: How many of those do not state the field.
-- unmapped_order_count BIGINT >= 0: Unmapped orders of that day that the total does not cover.
-- control_amount DECIMAL(38,4) null: The stated amount; null if not stated.
-- actual_amount DECIMAL(38,4) null: Sum of the field over those orders; 0 without orders, null if no order states it.
-- amount_variance DECIMAL(38,4) null: actual_amount less control_amount.
-- entry_no: The ledger entry that imported the total.
with totals as (
    select
        entry_no, imported_at, business_date, store_id, order_count, amount, amount_field, sale_classes,
        string_split(sale_classes, '+') as classes,
    from raw.control_totals
),
-- no other columns: a row that is given to a function is packed whole
orders as (
    select
        store_id, business_date, sale_class,
        $price,
    from mart.orders
),
controlled_orders as (
    select
        totals.business_date, totals.store_id, totals.amount_field, totals.sale_classes,
        -- the total includes the order's sale class
        list_contains(totals.classes, orders.sale_class) as is_included,
        orders.sale_class,
        amount_of(orders, totals.amount_field) as order_amount,
    from totals inner join orders using (store_id, business_date)
),
sums as (
    select
        business_date, store_id, amount_field, sale_classes,
        count(*) filter (where is_included) as order_count,
        count(*) filter (where is_included and order_amount is null) as missing_amount_order_count,
        count(*) filter (where not is_included and sale_class = 'unmapped') as unmapped_order_count,
        sum(order_amount) filter (where is_included) as amount,
    from controlled_orders group by business_date, store_id, amount_field, sale_classes
),
compared as (
    select
        totals.business_date, totals.store_id, totals.amount_field, totals.sale_classes,
        totals.order_count as control_order_count, totals.amount as control_amount,
        -- a store-day without orders has zero orders and zero money
        coalesce(sums.order_count, 0) as actual_order_count,
        if(coalesce(sums.order_count, 0) = 0, cast(0 as decimal(38, 4)), sums.amount) as actual_amount,
        coalesce(sums.missing_amount_order_count, 0) as missing_amount_order_count,
        coalesce(sums.unmapped_order_count, 0) as unmapped_order_count,
        case
            when sums.store_id is null and stores.store_id is null then 'store_unknown'
            when sums.unmapped_order_count > 0 then 'unmapped_orders'
            when totals.amount is not null and sums.missing_amount_order_count > 0 then 'missing_amount'
        end as unknown_reason,
        totals.entry_no, totals.imported_at,
    from totals
    left join sums using (business_date, store_id, amount_field, sale_classes)
    left join core.stores as stores using (store_id)
)

select
    business_date, store_id, amount_field, sale_classes,
    case
        when unknown_reason is not null then 'unknown'
        when
            coalesce(actual_order_count = control_order_count, true)
            and coalesce(actual_amount = control_amount, true)
            then 'tied'
        else 'variance'
    end as tie_out_status,
    unknown_reason, control_order_count, actual_order_count,
    actual_order_count - control_order_count as order_count_variance,
    missing_amount_order_count, unmapped_order_count, control_amount, actual_amount,
    actual_amount - control_amount as amount_variance,
    entry_no, imported_at,
from compared
