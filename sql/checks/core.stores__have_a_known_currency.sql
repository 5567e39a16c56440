-- A store's currency, if its record states one, is a code of ISO 4217, or [finance] currency_codes says which it is.
-- severity: warning
select
    store_id as entity_id, 'currency' as location,
    'stated: ' || currency as detail,
from core.stores
where not is_currency(currency)
