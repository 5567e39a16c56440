-- A store's timezone, if its record gives one, is in the IANA database.
-- severity: warning
select
    stores.store_id as entity_id, 'timezone' as location, '[business_day] timezone is used' as detail,
from core.stores as stores
anti join raw.zone_offsets as zones using (timezone)
where stores.timezone is not null
