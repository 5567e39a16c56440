-- The due ids whose answers say how the service does.
--
-- Not those that only the gap probe or a range of ids names, which may not exist; nor ids
-- requested again because they alone were bad. A webhook may come before its document can be
-- read: of ids only it named, the second request counts.
with bits as (
    select
        coalesce(sum(1 << no) filter (where name in (:probe, :range)), 0) as guessed,
        coalesce(max(1 << no) filter (where name = :webhook), 0) as webhook
    from reasons
)

select entries.id
from entries, bits
where
    entries.kind = :kind
    and entries.due_at <= :now
    and entries.why & ~bits.guessed <> 0
    and entries.misses >= (entries.why = bits.webhook)
    and (
        entries.reason like :together
        or (
            entries.rejections = 0
            and entries.failing_since is null
            and entries.misses <= (entries.why = bits.webhook)
        )
    )
