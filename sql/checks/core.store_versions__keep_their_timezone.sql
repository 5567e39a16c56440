-- A store's record never states a time zone of other clocks: from then on its orders have other business days.
-- severity: warning
with stated as (select distinct store_id, timezone from core.store_versions),
clocks as (
    select
        timezone,
        list({'from_us': from_us, 'offset_us': offset_us} order by from_us) as changes,
    from raw.zone_offsets
    where timezone in (select timezone from stated)
    group by timezone
)

select
    stated.store_id as entity_id, 'timezone' as location,
    'stated so far: '
    || string_agg(stated.timezone, ', ' order by stated.timezone)
    || '; [business_day] zone_changes says which orders have which' as detail,
from stated
inner join clocks using (timezone)
group by stated.store_id
having count(distinct clocks.changes) > 1
