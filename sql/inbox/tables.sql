-- The tables of the inbox. due_at is null for entries that wait for nothing: done, dead, given
-- up. `notifications` counts additions and `covered` is its value when the fetch in flight
-- began: a later notification makes notifications > covered, whatever the clocks say.
-- `failing_since`: when an id first had no usable response, after the last one that had.
create table if not exists reasons (no integer primary key, name text not null unique) strict;

create table if not exists entries (
    kind text not null,
    id integer not null,
    state text not null check (state in ('waiting', 'started', 'done', 'dead', 'given_up')),
    why integer not null,
    due_at integer,
    added_at integer not null,
    notified_at integer not null,
    notifications integer not null,
    covered integer,
    attempts integer not null default 0,
    misses integer not null default 0,
    last_attempt_at integer,
    finished_at integer,
    reason text,
    rejections integer not null default 0,
    failing_since integer,
    primary key (kind, id)
) strict, without rowid;

create index if not exists entries_due on entries (kind, due_at, id) where due_at is not null;

create table if not exists deliveries (
    seq integer primary key,
    received_at integer not null,
    topic text,
    kind text,
    id integer,
    delivery_id text,
    bytes integer not null,
    undecodable text,
    vault_ref text
) strict;

create index if not exists deliveries_undecodable on deliveries (seq) where undecodable is not null;

-- until layout 6 the plan of each night
drop table if exists plans;
