-- One row per store, as its record was last observed.
--
-- Source: the store record; the interface does not document its fields, so [partner.store] locates them.
-- Caveats: timezone is as sent and may be invalid: mart.orders has the zone that was used. Currency is a label;
-- nothing is converted. A store named by an order but never listed has no row here.
--
-- key: store_id
-- scope: store
--
-- store_id not null: The store, as the service numbers it.
-- name: The store's name, if [partner.store] name_pointer finds one.
-- currency: The currency of its amounts: the code of ISO 4217 in capitals, or what [finance] currency_codes says, else as sent; null if the record has none or '', or currency_pointer is empty.
-- attributes VARCHAR null: JSON: the fields of the record that [partner.store] allowed_pointers declares free of personal data.
select
    store_id, document.name as name, document.timezone as timezone,
    currency_of(document.currency, settings.finance_currency_codes) as currency,
    document.attributes as attributes, is_deleted, _fetched_at, _load_id, _payload_sha256,
from raw.latest_stores
cross join raw.settings as settings
