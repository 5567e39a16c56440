-- One row per restatement: a recorded change to an order's measure on a closed day.
select
    -- keys
    restated.restatement_no,
    restated.order_id,
    restated.store_id,
    restated.measure,
    restated.business_date as closed_business_date,
    restated.sale_class,
    -- money
    restated.currency,
    restated.closed_amount,
    restated.prior_restated_amount,
    restated.current_amount,
    restated.restatement_amount,
    -- cause and time
    restated.cause,
    restated.current_business_date,
    restated.current_sale_class,
    restated.detected_at,
    -- the close
    restated.close_entry_no,
    coalesce(
        restated.close_entry_no
        = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no),
        false
    ) as is_close_active,
    restated.posted_period,
    restated.reversed_period,
from raw.restated as restated
left join raw.day_closes as own
    on restated.business_date = own.business_date
    and restated.store_id = own.store_id
    and not own.is_every_store
left join raw.day_closes as every_store
    on restated.business_date = every_store.business_date
    and every_store.is_every_store
