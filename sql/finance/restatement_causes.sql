-- One row per pending restatement, numbered and with its cause, in the shape of the ledger.
--
-- What was last booked of an order (by a close or a restatement) is compared with what it is now, together with the
-- settings, rules and code of both times. The first case that applies decides; docs/DECISIONS.md explains them. Reads
-- the warehouse, attached as the default database, temp.last_booked, temp.restated_orders, and the entries in `memory`.
with causes as (
    select
        pending.*,
        orders.business_date as current_business_date, orders.sale_class as current_sale_class,
        orders.timezone as current_timezone, orders.payload_sha256 as current_payload_sha256,
        orders.fetched_at as current_fetched_at, orders.store_id as current_store_id,
        orders.store_id is not distinct from pending.store_id
        and orders.business_date is not distinct from pending.business_date
        and orders.sale_class = pending.sale_class
        and sums.currency is not distinct from pending.currency
        and sums.platform is not distinct from pending.platform as is_here,
        parts.total_rule,
        if(is_here, parts.total_parts, []) as total_parts,
        if(is_here, parts.total_part_amounts, []) as total_part_amounts,
        if(is_here, parts.total_residual, 0) as total_residual,
        if(is_here, parts.break_content, null) as break_content,
        case
            -- neither a close nor a restatement has the order
            when booked.order_id is null then case
                when orders.changed_at > closes.known_to and orders.was_quarantined_at_close
                    then 'released_from_quarantine'
                when not orders.was_known_at_close then 'late_arriving'
                when orders.changed_at <= closes.known_to
                    and closes.business_day_hash <> present.business_day_hash
                    then 'setting_changed'
                when orders.store_changed_at > closes.known_to then 'moved_to_another_store'
                else 'business_date_changed'
            end
            when orders.is_deleted and booked.sale_class <> 'deleted' then 'deleted'
            -- a different document
            when orders.payload_sha256 <> booked.payload_sha256 then case
                when orders.was_quarantined_when_booked then 'released_from_quarantine'
                when orders.business_date is null and booked.business_date is not null then 'lost_its_date'
                -- between closed days only if no amount changed besides
                when orders.store_id is distinct from booked.store_id
                    and booked.store_id is not null
                    and (not orders.has_changed or not orders.is_between_closed_days)
                    then 'moved_to_another_store'
                when orders.business_date is distinct from booked.business_date
                    and (not orders.has_changed or not orders.is_between_closed_days)
                    then 'business_date_changed'
                when orders.is_between_currencies and not orders.has_changed then 'currency_changed'
                when orders.is_between_platforms and not orders.has_changed then 'platform_changed'
                when not orders.has_changed then 'sale_class_changed'
                else 'source_changed'
            end
            -- the same document
            when booked.sale_class = 'deleted' and not orders.is_deleted then 'sale_class_changed'
            when booked.business_day_hash <> present.business_day_hash
                and orders.business_date is distinct from booked.business_date
                then 'setting_changed'
            when booked.sales_hash <> present.sales_hash
                and orders.sale_class <> booked.sale_class
                then 'setting_changed'
            when orders.business_date is distinct from booked.business_date
                and orders.timezone <> booked.timezone
                then 'business_date_changed'
            when orders.is_between_currencies then 'currency_changed'
            when orders.is_between_platforms then 'platform_changed'
            when orders.is_of_lines_alone and booked.rules_hash <> present.rules_hash then 'rule_changed'
            else 'pipeline_changed'
        end as cause,
    from audit.pending_restatements as pending
    cross join memory.present as present
    inner join memory.entries as closes on pending.close_entry_no = closes.entry_no
    inner join temp.restated_orders as orders using (order_id, close_entry_no)
    inner join mart.order_reconciliation as sums using (order_id)
    inner join temp.order_total_parts as parts using (order_id)
    left join temp.last_booked as booked using (order_id)
)

select
    $last_restatement_no + row_number() over (
        order by business_date, order_id, store_id, sale_class, measure, currency, platform
    ) as restatement_no,
    close_entry_no, order_id, store_id, business_date, sale_class, measure, currency, closed_amount,
    prior_restated_amount, current_amount, restatement_amount, cause,
    $detected_at::timestamptz as detected_at,
    current_business_date, current_sale_class, current_timezone, current_payload_sha256, current_fetched_at,
    current_store_id, platform, total_rule, total_parts, total_part_amounts, total_residual, break_content,
from causes
order by restatement_no
