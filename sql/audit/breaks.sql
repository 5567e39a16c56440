-- One row per break, a residual of an order that is not zero, with what was decided of it.
--
-- Source: mart.order_reconciliation, and what `ordermart breaks` recorded in the ledger until the build.
-- Caveats: an order is accepted as a whole, with both of its residuals. What is decided after the build counts at once
-- for `ordermart reconcile` and `close`, and is here after the next.
--
-- key: order_id, rule_target
-- scope: order
--
-- currency_digits BIGINT null >= 0 <= 4: The decimals of its smallest unit by ISO 4217.
-- residual: Stated less computed, as in mart.order_reconciliation.
-- reason: Why it was accepted; null if it never was.
-- accepted_by VARCHAR null: The system's user who accepted it.
-- accepted_as VARCHAR null: The name that this user gave, which proves nothing.
-- accepted_at TIMESTAMPTZ null: When it was accepted.
-- comment_count BIGINT >= 0: How often it was commented on: `ordermart breaks list` shows the comments.
-- content: A hash of the order's amounts: it is accepted while they are the same.

-- People accept an order's break as it is: with the amounts that its content is a hash of.
with residuals as (
    select
        order_id, store_id, business_date, sale_class, currency,
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
                '$optional ' || cast($optional as varchar), -- null: as it was without
                coalesce(cast(line_amount as varchar), ''),
                coalesce(cast(subtotal_residual as varchar), ''),
                coalesce(cast(total_residual as varchar), '')
            )
        ) as content,
        unnest([
            {'rule_target': 'subtotal', 'residual': subtotal_residual, 'likely_cause': subtotal_likely_cause},
            {'rule_target': 'total', 'residual': total_residual, 'likely_cause': total_likely_cause},
        ], recursive := true),
    from mart.order_reconciliation where verdict in ('total_break', 'subtotal_break', 'both_break')
)

select
    breaks.order_id, breaks.rule_target, breaks.store_id, breaks.business_date, breaks.sale_class,
    breaks.currency,
    cast(currency_digits(breaks.currency) as bigint) as currency_digits,
    breaks.residual, breaks.likely_cause,
    case
        when decisions.content = breaks.content then 'accepted'
        when decisions.content is not null then 'changed'
        else 'open'
    end as state,
    decisions.reason, decisions.accepted_by, decisions.accepted_as, decisions.accepted_at,
    decisions.account_class, decisions.assignee,
    coalesce(decisions.comment_count, 0) as comment_count, -- no row: no comment
    breaks.content,
from residuals as breaks
left join raw.break_decisions as decisions on 'order:' || breaks.order_id = decisions.break_key
where breaks.residual <> 0
