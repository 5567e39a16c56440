-- One row per order version in which a price differs from the previous version.
--
-- Caveats: total_lowered means that the total fell, not that money was refunded: the source does not say. The change
-- happened between previous_last_seen_at and first_seen_at. An order's amendments add up to its last total less its
-- first. Do not add across currencies.
--
-- key: order_id, version_no
--
-- version_no BIGINT >= 2: The later of the two versions: core.order_versions has it.
-- previous_last_seen_at TIMESTAMPTZ null: When the previous version was last observed; null for an archive of unknown time.
-- first_seen_at TIMESTAMPTZ null: When this version was first observed; null for an archive of unknown time.
-- was_closed BOOLEAN null: Whether the order's business day was closed, by the active close, when this version was first seen; null if it is closed and the version comes from an archive of unknown time.
-- hours_after_creation BIGINT null: Whole hours from the order's creation to first_seen_at: an upper bound for the change. Null if either time is unknown.
-- subtotal_change DECIMAL(38,4) null: subtotal_price of this version less the previous one's; null if either is null. For the others likewise.
-- total_change DECIMAL(38,4) null: total_price of this version less the previous one's; null if either is null.
-- added_line_count BIGINT >= 0: Lines that the previous version does not have, by line_id.
-- removed_line_count BIGINT >= 0: Lines of the previous version that this one does not have, by line_id.
-- changed_line_count BIGINT >= 0: Lines of both versions whose product, quantity, name, price or modifiers differ.
-- verdict VARCHAR: How the total changed: total_lowered, total_raised, total_unchanged, or indeterminate if either is null.
with amended as (
    select distinct order_id, version_no from core.order_changes
    where field in (
        'subtotal_price', 'delivery_price', 'tip', 'discount', 'loyalty_discount', 'total_price'
    )
),

pairs as (
    select
        later.order_id, later.version_no, later.lines_version_no,
        later.lines_version_no > earlier.lines_version_no as has_other_lines,
        earlier.last_seen_at as previous_last_seen_at,
        later.first_seen_at,
        earlier.total_price as previous_total_price,
        later.total_price,
        -- wider than a price: the difference of two 14-digit amounts must not overflow
        cast(later.subtotal_price as decimal(38, 4)) - earlier.subtotal_price
            as subtotal_change,
        cast(later.delivery_price as decimal(38, 4)) - earlier.delivery_price
            as delivery_change,
        cast(later.tip as decimal(38, 4)) - earlier.tip as tip_change,
        cast(later.discount as decimal(38, 4)) - earlier.discount as discount_change,
        cast(later.loyalty_discount as decimal(38, 4)) - earlier.loyalty_discount
            as loyalty_discount_change,
        cast(later.total_price as decimal(38, 4)) - earlier.total_price as total_change,
    from core.order_versions as later
    inner join amended using (order_id, version_no)
    inner join core.order_versions as earlier
        on later.order_id = earlier.order_id
        and later.version_no = earlier.version_no + 1
),

modifiers as (
    select
        order_id, lines_version_no, line_no,
        list(
            row(modifier_id, name, action, quantity, price) order by modifier_no
        ) as modifiers,
    from core.order_line_modifier_versions
    semi join (select order_id from pairs where has_other_lines) as changed using (order_id)
    group by order_id, lines_version_no, line_no
),

lines as (
    select
        lines.order_id, lines.lines_version_no, lines.line_id,
        -- line ids are not guaranteed to be unique
        row_number() over (
            partition by lines.order_id, lines.lines_version_no, lines.line_id
            order by lines.line_no
        ) as occurrence_no,
        row(
            product_id, quantity, name, price, has_instructions, modifiers.modifiers
        ) as content,
    from core.order_line_versions as lines
    left join modifiers using (order_id, lines_version_no, line_no)
    semi join (select order_id from pairs where has_other_lines) as changed using (order_id)
),

-- lines of one version are the earlier side of the next
sides as (
    select
        * exclude (lines_version_no),
        unnest([
            {'lines_version_no': lines_version_no, 'is_later': true},
            {'lines_version_no': lines_version_no + 1, 'is_later': false},
        ], recursive := true),
    from lines
),

matched as (
    select
        order_id, lines_version_no,
        bool_or(is_later) as is_present,
        bool_or(not is_later) as was_present,
        any_value(content) filter (where is_later)
        is distinct from any_value(content) filter (where not is_later) as differs,
    from sides
    group by order_id, lines_version_no, line_id, occurrence_no
),

counts as (
    select
        order_id, lines_version_no,
        count(*) filter (where not was_present) as added_line_count,
        count(*) filter (where not is_present) as removed_line_count,
        count(*) filter (where is_present and was_present and differs)
            as changed_line_count,
    from matched
    group by order_id, lines_version_no
)

select
    pairs.order_id,
    pairs.version_no,
    orders.store_id,
    orders.business_date,
    -- time: the change happened between the two
    pairs.previous_last_seen_at,
    pairs.first_seen_at,
    closes.closed_at is not null and closes.closed_at <= pairs.first_seen_at as was_closed,
    date_sub('hour', orders.created_at, pairs.first_seen_at) as hours_after_creation,
    -- money
    orders.currency,
    pairs.subtotal_change,
    pairs.delivery_change,
    pairs.tip_change,
    pairs.discount_change,
    pairs.loyalty_discount_change,
    pairs.total_change,
    pairs.previous_total_price,
    pairs.total_price,
    -- lines: none differ if the lines' version is the same
    if(has_other_lines, coalesce(added_line_count, 0), 0) as added_line_count,
    if(has_other_lines, coalesce(removed_line_count, 0), 0) as removed_line_count,
    if(has_other_lines, coalesce(changed_line_count, 0), 0) as changed_line_count,
    -- verdict
    case
        when pairs.total_change is null then 'indeterminate'
        when pairs.total_change < 0 then 'total_lowered'
        when pairs.total_change > 0 then 'total_raised'
        else 'total_unchanged'
    end as verdict,
from mart.orders as orders
inner join pairs using (order_id)
left join counts using (order_id, lines_version_no)
left join (select distinct business_date, store_id, closed_at from mart.closed_days) as closes
    on orders.business_date = closes.business_date
    and orders.store_id is not distinct from closes.store_id
