-- Entries of these ids: :ids or :first to :last. A new notification makes an entry due whatever
-- its state, :interval after its last request at the earliest, however often it is repeated. A
-- fetch in flight continues and does not cover it. Rejections stay counted: an id that is
-- requested and rejected every night becomes a dead letter all the same.
insert into entries (kind, id, state, why, due_at, added_at, notified_at, notifications)
select :kind, value, 'waiting', :why, :due, :now, :now, 1 from ({ids}) as given where true
on conflict (kind, id) do update set
    state = case state when 'started' then 'started' else 'waiting' end,
    why = case when due_at is null then excluded.why else why | excluded.why end,
    due_at = min(
        coalesce(due_at, excluded.due_at + :interval), max(excluded.due_at, coalesce(last_attempt_at, 0) + :interval)
    ),
    added_at = case when due_at is null then excluded.added_at else added_at end,
    attempts = case when due_at is null then 0 else attempts end,
    misses = 0,
    notified_at = max(notified_at, excluded.notified_at),
    notifications = entries.notifications + 1
where :since is null or state <> 'done' or finished_at < :since
