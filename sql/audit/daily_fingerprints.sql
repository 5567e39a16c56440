-- One row per store, business day and sale class: its order count and a fingerprint.
--
-- The hash is hashed again because DuckDB combines column hashes with xor: equal changes
-- to two orders would otherwise cancel out.
select
    -- keys
    store_id,
    business_date,
    sale_class,
    -- orders
    count(*) as order_count,
    cast(
        bit_xor(
            hash(
                hash(
                    order_id,
                    subtotal_price,
                    delivery_price,
                    tip,
                    discount,
                    loyalty_discount,
                    total_price,
                    line_amount
                )
            )
        ) as varchar
    ) as fingerprint,
from mart.order_reconciliation
group by store_id, business_date, sale_class
