-- The tables of the vault: secrets arrive encrypted.
create table if not exists meta (name text primary key, value blob not null) without rowid;
create table if not exists customers (
    n integer primary key, customer_key text not null, wrapped blob -- null once erased
);
create table if not exists lookups (
    hash blob not null, customer integer not null, primary key (hash, customer)
) without rowid;
create index if not exists lookups_customer on lookups (customer);
create table if not exists personal_data (
    kind text not null, id integer not null, no integer not null, customer integer not null,
    digest blob not null, load_id text not null, seq integer not null, body blob not null,
    primary key (kind, id, no)
) without rowid;
create table if not exists refused (
    ref text primary key, kind text not null, asked integer, load_id text not null, refused_at text not null,
    wrapped blob not null, body blob not null
) without rowid;
create table if not exists erased ( -- never encrypted again
    kind text not null, id integer not null, primary key (kind, id)
) without rowid;
create table if not exists open_loads (load_id text primary key, kind text not null) without rowid;
