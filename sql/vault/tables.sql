-- The tables of the vault: secrets arrive encrypted.
create table if not exists meta (name text primary key, value blob not null) without rowid;
create table if not exists customers (
    n integer primary key, customer_key text not null, wrapped blob -- null once erased
);
create table if not exists lookups (
    hash blob not null, customer integer not null, -- one of whose orders states the contact
    owns integer not null default 0, -- 1: the contact is what this customer is known by
    primary key (hash, customer)
) without rowid;
create index if not exists lookups_customer on lookups (customer);
create table if not exists pairs ( -- contacts that one order states
    phone blob not null, email blob not null, primary key (phone, email)
) without rowid;
create index if not exists pairs_email on pairs (email);
create table if not exists shared ( -- contacts of so many people that they tell nobody
    hash blob primary key, is_settled integer not null -- 0: earlier orders were not filed again yet
) without rowid;
create table if not exists moved (id integer primary key); -- orders filed again: raw files have their old customers
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
