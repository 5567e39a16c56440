-- orders_as_of(ts): one row per order observed by then, as last observed.
-- Unknown observation times, of archives, count as earliest.
select
    versions.order_id, versions.version_no, versions.lines_version_no, versions.first_seen_at,
    versions.last_seen_at, versions.status, versions.delivery_ids, versions.delivery_statuses,
    versions.$price,
    versions._load_id, versions._payload_sha256,
from core.order_versions as versions
anti join (
    select order_id, version_no,
    from core.order_versions
    where
        version_no > 1 -- few, so that the join by hash is fast
        and (first_seen_at is null or first_seen_at <= cast(ts as timestamp with time zone))
) as later
    on versions.order_id = later.order_id and versions.version_no < later.version_no
where versions.first_seen_at is null or versions.first_seen_at <= cast(ts as timestamp with time zone)
