-- One row per break: an order whose residuals are not zero, with a hash of its amounts.
select
    order_id,
    store_id,
    business_date,
    sale_class,
    currency,
    verdict,
    total_residual,
    subtotal_residual,
    greatest(
        coalesce(abs(total_residual), 0),
        coalesce(abs(subtotal_residual), 0)
    ) as abs_residual,
    total_likely_cause,
    subtotal_likely_cause,
    sha256(
        concat_ws(
            '|',
            coalesce(currency, ''),
            coalesce(cast(subtotal_price as varchar), ''),
            coalesce(cast(delivery_price as varchar), ''),
            coalesce(cast(tip as varchar), ''),
            coalesce(cast(discount as varchar), ''),
            coalesce(cast(loyalty_discount as varchar), ''),
            coalesce(cast(total_price as varchar), ''),
            coalesce(cast(line_amount as varchar), ''),
            coalesce(cast(subtotal_residual as varchar), ''),
            coalesce(cast(total_residual as varchar), '')
        )
    ) as content,
from mart.order_reconciliation
where verdict in ('total_break', 'subtotal_break', 'both_break')
