-- One row per store, business day and sale class: how many orders it has, and their fingerprint.
--
-- A hash of several columns keeps what they share apart from what differs, so that equal
-- changes of two orders would cancel in an xor: it is hashed once more.
select
    -- keys
    store_id,
    business_date,
    sale_class,
    -- its orders
    count(*) as orders,
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
