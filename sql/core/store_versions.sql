-- One row per store, and run of records with the same name, timezone and currency: a rename is a new row.
--
-- Source: every version of the store's record. Each run asks for every store that the service lists, so a store that
-- is no longer listed is no longer observed: its last_listed_at stays behind that of the others.
-- Caveats: the times are those of observation, not of the change. A record that was asked for otherwise, by a
-- webhook, counts as listed.
--
-- key: store_id, version_no
-- scope: store
-- join core.stores (store_id): a record observed has the store as it is now
--
-- store_id not null: The store, as the service numbers it.
-- version_no: The record's version, from 1, with which it was first observed so.
-- name: The store's name, if [partner.store] name_pointer finds one.
-- currency: The currency of its amounts: the code of ISO 4217 in capitals, or what [finance] currency_codes says, else as sent; null if the record has none or '', or currency_pointer is empty.
-- first_listed_at TIMESTAMPTZ null: When it was first observed so, not when it took effect: it may have been so before. Null for an archive of unknown time.
-- last_listed_at TIMESTAMPTZ null: When it was last observed so: for the current row, when the store was last listed. Null for an archive of unknown time.
-- is_current: Whether the latest record still says so.
-- _load_id: The load of the observation with which the interval starts.
with versions as (
    select
        store_id, version_no, is_new, first_seen_at, last_seen_at, document.name as name,
        document.timezone as timezone,
        currency_of(document.currency, settings.finance_currency_codes) as currency,
        _load_id,
    from raw.store_versions cross join raw.settings as settings
),
-- each new version, and the last version that stands here
stated as (
    select
        store_id, version_no, name, timezone, currency, version_no as since_version_no,
        first_seen_at as first_listed_at, last_seen_at, _load_id,
    from versions where is_new
    union all
    select
        stored.store_id, versions.version_no, stored.name, stored.timezone, stored.currency,
        stored.version_no as since_version_no, stored.first_listed_at, versions.last_seen_at, stored._load_id,
    from core.store_versions as stored -- as it was before this build
    inner join versions on stored.store_id = versions.store_id and not versions.is_new
    where stored.is_current
),
marked as (
    select
        *,
        lag(version_no) over in_order is null
        or name is distinct from lag(name) over in_order
        or timezone is distinct from lag(timezone) over in_order
        or currency is distinct from lag(currency) over in_order as starts,
    from stated
    window in_order as (partition by store_id order by version_no)
),
numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by store_id order by version_no rows unbounded preceding
        ) as run_no,
    from marked
),
runs as (
    select
        store_id, min(since_version_no) as version_no, any_value(name) as name, any_value(timezone) as timezone,
        any_value(currency) as currency,
        first(first_listed_at order by version_no) as first_listed_at,
        max(last_seen_at) as last_listed_at,
        run_no = max(run_no) over (partition by store_id) as is_current,
        first(_load_id order by version_no) as _load_id,
    from numbered group by store_id, run_no
)

select
    store_id, version_no, name, timezone, currency, first_listed_at, last_listed_at, is_current, _load_id,
from (from runs union all by name from core.store_versions where not is_current)
