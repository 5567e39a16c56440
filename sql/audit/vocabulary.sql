-- One row per kind of document, coded field, and value that it has.
--
-- Source: every version of orders and menus. The interface shows no complete set of values for any of these fields.
-- Caveats: null and absent are no values: see audit.field_profile.
--
-- key: kind, path, value
--
-- path: Where in the document, as a JSON pointer in which * stands for every element or key.
-- value: The value, exactly as sent.
-- document_count >= 0: How many documents hold it now; 0 where later values took its place.
-- occurrence_count >= 0: How often it occurs in them.
-- first_seen_at: The earliest time at which such a version was first observed; null where all are of unknown time.
-- last_seen_at: The latest time at which such a version was first observed; null where all are of unknown time.
-- example_id: The lowest id of such a document.

-- of every version of a menu: what is older than its latest is not new with it
with coded as (
    select
        menu_id, '/menu/price_groups/*/prices/*/channel' as path, channel as value, observed_from, is_current,
    from core.menu_price_versions
    union all
    select
        menu_id, '/products/*/dispatch_method' as path, dispatch_method as value, observed_from, is_current,
    from core.menu_product_versions
),
in_menus as (
    select
        menu_id, path, value,
        count(*) filter (where is_current) as occurrence_count,
        min(observed_from) as first_seen_at, max(observed_from) as last_came_at,
        bool_or(observed_from is null) as is_of_unknown_time,
    from coded where value is not null group by menu_id, path, value
),
used as (
    select
        'orders' as kind, path, value, document_count, occurrence_count, first_seen_at, last_seen_at,
        is_of_unknown_time, example_id,
    from workings.daily_vocabulary
    union all
    select
        'menus' as kind, found.path, found.value,
        if(found.occurrence_count > 0, 1, 0) as document_count,
        found.occurrence_count, found.first_seen_at,
        if(found.occurrence_count > 0, menus._fetched_at, found.last_came_at) as last_seen_at,
        found.is_of_unknown_time, found.menu_id as example_id,
    from in_menus as found inner join core.menus as menus using (menu_id)
)

select
    kind, path, value,
    cast(sum(document_count) as bigint) as document_count,
    cast(sum(occurrence_count) as bigint) as occurrence_count,
    min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at,
    bool_or(is_of_unknown_time) as is_of_unknown_time,
    min(example_id) as example_id,
from used
group by kind, path, value
