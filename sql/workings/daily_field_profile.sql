-- One row per business day, field of the order document, and issue.
--
-- A step: read audit.field_profile instead. A name in it may be a person's.
-- Source: workings.order_field_issues by the business day of mart.orders: what audit.field_profile adds up, kept by day.
--
-- key: business_date, note
-- scope: day
--
-- document_count: How many orders.
-- customer_keys VARCHAR[]: Keys of up to 20 of their customers, if the field is not documented.
-- first_seen_at: The earliest time at which such a version was first observed; null where all are of unknown time.
-- last_seen_at: The latest time at which such a version was first observed; null where all are of unknown time.
-- example_id: The lowest id of such an order.
with noted as (
    select
        orders.business_date, notes.order_id, orders.customer_key, notes._fetched_at,
        unnest(notes.missing_fields || notes.unknown_fields) as note,
    from workings.order_field_issues as notes inner join mart.orders as orders using (order_id)
)

select
    business_date, note, count(*) as document_count,
    if(
        note[1] = '/', list_slice(list_sort(list_distinct(list(customer_key))), 1, 20), []
    ) as customer_keys,
    min(_fetched_at) as first_seen_at, max(_fetched_at) as last_seen_at, min(order_id) as example_id,
from noted
group by business_date, note
