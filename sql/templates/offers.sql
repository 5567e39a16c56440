-- One row per $place and interval between two changes: what all spans of $record that cover it ask.
with spans as (
    select *, $record as record, row($place) as place, from ($select) as listed
),
bounds as (select place, from_at as at_time from spans union select place, until_at as at_time from spans),
intervals as (
    select
        place, at_time as from_at,
        lead(at_time) over (partition by place order by at_time) as until_at,
    from bounds
),
offered as (
    select
        $place,
        nullif(intervals.from_at, cast('-infinity' as timestamptz)) as offered_from,
        nullif(intervals.until_at, cast('infinity' as timestamptz)) as offered_until,
        -- of several of them none is named
        if(count(distinct record) > 1, null, any_value(record)) as record,
        if(count(distinct record) > 1, null, max(seen_at)) as seen_at,
        cast(sum(menu_entry_count) as bigint) as menu_entry_count,
        list_sort(list_distinct(flatten(list(prices)))) as prices,
        list_sort(list_distinct(flatten(list(delivery_prices)))) as delivery_prices,
    from intervals
    inner join spans
        on intervals.place = spans.place
        and spans.from_at <= intervals.from_at
        and spans.until_at >= intervals.until_at
    group by $place, intervals.from_at, intervals.until_at
)

select
    $place,
    offered_from, offered_until,
    $named
    seen_at, menu_entry_count, prices, delivery_prices,
from offered
