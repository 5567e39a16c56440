-- One row per order status and currency: figures of the orders that have it, and the later statuses of others.
--
-- Source: workings.daily_statuses and audit.status_transitions. [sales] decides which statuses are sales; the interface
-- does not say.
-- Caveats: evidence, not an answer. transitioned_count, transition_rate and next_statuses cover all currencies of the
-- status: never add them across rows. A status that no order has any more is listed with 0 orders.
--
-- key: status, currency
--
-- status: Status of the order, as sent; null if the service sent none.
-- sale_class null: Its class in [sales]: counted, excluded or unmapped; null if no order has it now.
-- order_count >= 0: Orders that have it, as last observed.
-- subtotal_price DECIMAL(38,4): Sum of subtotal_price over the orders that state it; null if none does.
-- total_price DECIMAL(38,4): Sum of total_price over the orders that state it; null if none does.
-- median_age_hours BIGINT null: Median age in whole hours, from creation to the last request: a status that only young orders have is transient.
-- transitioned_count BIGINT >= 0: How often an order with it was later observed with another status.
-- transition_rate DOUBLE >= 0 <= 1: transitioned_count / (transitioned_count + orders of all currencies that have it).
-- next_statuses VARCHAR[]: The next statuses with their counts, the most frequent first.
with orders as (
    select
        status, currency,
        any_value(any_value(sale_class)) over of_status as sale_class, -- a status has one
        cast(sum(order_count) as bigint) as order_count,
        sum(sum(order_count)) over of_status as status_order_count,
        cast(sum(deleted_count) as bigint) as deleted_count,
        cast(sum(zero_total_count) as bigint) as zero_total_count,
        cast(sum(missing_total_count) as bigint) as missing_total_count,
        cast(sum(subtotal_price) as decimal(38, 4)) as subtotal_price,
        cast(sum(total_price) as decimal(38, 4)) as total_price,
        min(first_created_at) as first_created_at, max(last_created_at) as last_created_at,
        cast(sum(week_old_count) as bigint) as week_old_count,
    from workings.daily_statuses
    group by status, currency
    window of_status as (partition by status)
),
ages as (
    select
        status, currency, age_hours,
        sum(sum(order_count)) over (of_status order by age_hours) as running_count,
        sum(sum(order_count)) over of_status as total_count,
    from workings.daily_statuses
    where age_hours is not null
    group by status, currency, age_hours
    window of_status as (partition by status, currency)
),
medians as (
    select status, currency, min(age_hours) as median_age_hours,
    from ages where 2 * running_count >= total_count group by status, currency
),
transitions as (
    select
        previous_status as status,
        cast(sum(occurrence_count) as bigint) as transitioned_count,
        list(
            coalesce(status, '(none)') || ': ' || occurrence_count
            order by occurrence_count desc, status
        ) as next_statuses,
    from audit.status_transitions where entity_type = 'order' group by previous_status
),
-- statuses that orders have, and those that they only had: no class and no ages
met as (
    select
        coalesce(orders.status, transitions.status) as met_status,
        orders.*,
        coalesce(transitions.transitioned_count, 0) as transitioned_count,
        coalesce(transitions.next_statuses, []) as next_statuses,
    from orders
    full join transitions on orders.status is not distinct from transitions.status
)

select
    met.met_status as status, met.currency,
    -- its class in [sales]
    met.sale_class,
    -- orders as last observed; no row means no order
    coalesce(met.order_count, 0) as order_count, coalesce(met.deleted_count, 0) as deleted_count,
    coalesce(met.zero_total_count, 0) as zero_total_count,
    coalesce(met.missing_total_count, 0) as missing_total_count, met.subtotal_price, met.total_price,
    met.first_created_at, met.last_created_at, medians.median_age_hours,
    coalesce(met.week_old_count, 0) as week_old_count, met.transitioned_count,
    -- an order with this status either moved on or still has it
    coalesce(
        met.transitioned_count
        / (met.transitioned_count + coalesce(met.status_order_count, 0)),
        0
    ) as transition_rate,
    met.next_statuses,
from met
left join medians on met.met_status is not distinct from medians.status
    and met.currency is not distinct from medians.currency
