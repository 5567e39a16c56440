-- One row per order, place and part that was found to differ from what was booked.
with

every_store as (
    select business_date, seal_no from raw.day_seals where is_every_store
),

own as (
    select business_date, store_id, seal_no from raw.day_seals where not is_every_store
)

select
    -- keys
    restated.number,
    restated.order_id,
    restated.store_id,
    restated.part,
    restated.business_date as sealed_business_date,
    restated.sale_class,
    -- money
    restated.currency,
    restated.sealed,
    restated.restated_before,
    restated.now,
    restated.difference,
    -- why and when
    restated.cause,
    restated.now_business_date,
    restated.now_sale_class,
    restated.detected_at,
    -- the seal
    restated.seal_no,
    coalesce(
        restated.seal_no
        = if(own.business_date is null, every_store.seal_no, own.seal_no),
        false
    ) as is_seal_in_force,
    restated.posted_period,
from raw.restated as restated
left join own
    on restated.business_date = own.business_date
    and restated.store_id = own.store_id
left join every_store on restated.business_date = every_store.business_date
