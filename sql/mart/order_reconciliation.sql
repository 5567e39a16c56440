-- One row per order: the total that the service states beside the total by the formula.
with

parts as (
    select
        order_id,
        store_id,
        business_date,
        sale_class,
        currency,
        total_price,
        -- wider than a part: sums of 14-digit amounts must not overflow
        cast(subtotal_price as decimal(38, 4))
            + delivery_price
            + tip
            - discount
            - loyalty_discount as formula_total,
        list_filter(
            [
                if(subtotal_price is null, 'subtotal_price', null),
                if(delivery_price is null, 'delivery_price', null),
                if(tip is null, 'tip', null),
                if(discount is null, 'discount', null),
                if(loyalty_discount is null, 'loyalty_discount', null),
                if(total_price is null, 'total_price', null),
            ],
            lambda part: part is not null
        ) as missing_parts,
    from mart.orders
)

select
    -- keys
    order_id,
    store_id,
    business_date,
    sale_class,
    -- money
    currency,
    total_price,
    formula_total,
    total_price - formula_total as total_residual,
    -- the answer
    missing_parts,
    case
        when total_price - formula_total is null then 'cannot_tell'
        when total_price - formula_total = 0 then 'balanced'
        else 'total_off'
    end as verdict,
from parts
