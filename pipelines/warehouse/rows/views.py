"""What a select sees while tables are made: schemas core, mart and audit as they will be after this build.

Fresh rows lie in schema `fresh`, under the table's whole name; `warehouse` is the attached database, before this
build or, in a full one, being filled. For each select, the tables that it reads become views of those two, restricted
to the orders, menus, stores or business days that it is about; a table that reads itself gets its rows of before this
build, none of them in a full one. So one select serves a bucket, an increment and a whole table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.settings import kinds
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.history import STATES
from pipelines.warehouse.inputs import relations

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue.tables import Check, Table

ENTITIES = ("order", *(kinds.ENTITIES[kind] for kind in kinds.WHOLE_KINDS))
ORDERS_OF = 'touched."orders of '  # and the name of a table by day or customer: the orders of its keys
UNDATED = "business_date"  # the key that is null for orders without that time


@dataclass
class Staged:
    """Where the rows of tables are.

    In an increment `sets` names, for each table with fresh rows that differ from before, the relation of keys whose
    rows are fresh; None stands for all rows. `differing` names the columns in which they differ; `sources` names those
    of raw that are not what they were; `compared` names tables of whose rows it is kept in what each differs. In a full
    build there is but the warehouse, and `bucket` says which order_id are at hand.
    """

    con: duckdb.DuckDBPyConnection
    catalogue: dict[str, Table]
    full: bool
    bucket: str = "true"
    sets: dict[str, str | None] = field(default_factory=dict)
    differing: dict[str, frozenset[str]] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)
    has_keys: dict[str, bool] = field(default_factory=dict)  # by relation of keys, as far as it was asked
    bounds: dict[tuple[str, str], str] = field(default_factory=dict)  # by relation of keys and key, in an increment
    shown: dict[str, str] = field(default_factory=dict)  # the selects of the views in place, by name


def show(staged: Staged, item: Table | Check, keys: str | None) -> None:
    """Make the views that `item` reads; `keys` is the relation of the keys it is about, None for everything."""
    selects = {}
    for name in item.depends_on:
        if name.startswith("raw."):
            orders = f'{ORDERS_OF}{item.name}"' if item.scope == "day" and keys is not None else keys
            _show_raw(staged, name, keys if staged.full else orders)
        elif name == item.name:
            selects[name] = _as_it_was(staged, name, keys)
        else:
            selects[name] = _body(staged, item, name, keys)
    others = {name: select for name, select in selects.items() if staged.shown.get(name) != select}
    if others:
        staged.con.execute(";\n".join(f"create or replace view {name} as {each}" for name, each in others.items()))
        staged.shown |= others


def between(con: duckdb.DuckDBPyConnection, keys: str, column: str, key: str) -> str:
    """Return the condition that a column lies between the least and the greatest of some keys.

    Stored rows lie roughly in the order of their ids, so most of a table need not be looked at. False without keys.
    """
    row = con.execute(f"select min({key}), max({key}) from {keys}").fetchone()
    return "false" if row is None or row[0] is None else f"{column} between {row[0]} and {row[1]}"


def within(staged: Staged, keys: str, column: str, key: str) -> str:
    """Return the condition of `between` for a relation of keys that no longer changes: it is read once."""
    if staged.full:
        return between(staged.con, keys, column, key)
    if (keys, key) not in staged.bounds:
        staged.bounds[keys, key] = between(staged.con, keys, "{column}", key)
    return staged.bounds[keys, key].format(column=column)


def days_between(con: duckdb.DuckDBPyConnection, keys: str) -> str:
    """Return the condition that a business day lies between the first and the last of `keys`, or has no date."""
    row = con.execute(
        f"select min(business_date), max(business_date), bool_or(business_date is null) from {keys}"
    ).fetchone()
    first, last, has_null = row or (None, None, True)
    dated = "false" if first is None else f"t.business_date between date '{first}' and date '{last}'"
    return f"({dated} or t.business_date is null)" if has_null or has_null is None else dated


def _body(staged: Staged, item: Table | Check, name: str, keys: str | None) -> str:
    """Return the select of those rows of a table that an item about `keys` reads."""
    table = staged.catalogue[name]
    key = str(key_of(table))
    where = _restriction(staged, item, name, keys)
    if keys is None or staged.full or table.scope not in ENTITIES:
        return projected_rows_sql(staged, name, where, item)
    if table.scope == item.scope:
        return _of_keys(staged, item, name, keys, key)
    if item.scope == "day" and "business_date" not in where:
        return _of_keys(staged, item, name, f'{ORDERS_OF}{item.name}"', key)
    return projected_rows_sql(staged, name, where, item)


def _of_keys(staged: Staged, item: Table | Check, name: str, keys: str, key: str) -> str:
    """Return the select of a table's rows of these keys as they will be; stored rows only of those not recomputed."""
    columns = _columns(staged, name, item)
    fresh = f'select {columns} from fresh."{name}" as t where {_in(staged, name, keys)}'
    own = staged.sets.get(name, keys)
    if own is None or (own == keys and name in staged.sets):
        return fresh
    left = keys
    if name in staged.sets:
        left = f'touched."not recomputed of {name}"'
        staged.con.execute(f"""
            create or replace table {left} as
            select {key} from {keys} as k where not exists (select 1 from {own} as o where o.{key} = k.{key})
        """)
    column = f"t.{key}"
    near = within(staged, keys, column, key) if left == keys else between(staged.con, left, column, key)
    stored = f"select {columns} from warehouse.{name} as t where {near} and {_in(staged, name, left)}"
    return f"{fresh} union all {stored}" if name in staged.sets else stored


def projected_rows_sql(staged: Staged, name: str, where: str = "true", item: Table | Check | None = None) -> str:
    """Return the select of a table's rows as they will be, in the columns that `item` reads; `where` is about `t`."""
    columns = _columns(staged, name, item)
    fresh = f'select {columns} from fresh."{name}" as t where {where}'
    stored = f"select {columns} from warehouse.{name} as t"
    if staged.full:
        return f"{stored} where {where} and {made(staged, name)}"
    if name not in staged.sets:
        return f"{stored} where {where}"
    keys = staged.sets[name]
    if keys is None:
        return fresh
    # a join, because DuckDB plans "not exists" among many others as one that first keeps all rows of the table
    return f"{fresh} union all {stored} anti join {keys} as k on {_same(staged, name)} where {where}"


def _as_it_was(staged: Staged, name: str, keys: str | None) -> str:
    """Return the select of a table's rows that still hold: none in a full build, nor where all is read from raw."""
    if staged.full:
        return f"select {_columns(staged, name)} from warehouse.{name} as t where false"
    table = staged.catalogue[name]
    key = str(key_of(table))
    kind = next(kind for kind, entity in relations.ENTITY.items() if entity == key)
    of_keys = "true"
    if keys is not None:
        of_keys = f"{within(staged, keys, f't.{key}', key)} and {_in(staged, name, keys)}"
    return f"""
        select {_columns(staged, name)} from warehouse.{name} as t
        where {of_keys}
            and not exists (select 1 from touched.late as l where l.kind = '{kind}' and l.id = t.{key})
    """


def made(staged: Staged, name: str) -> str:
    """Return the condition, about a stored table's rows, of those that a full build has at hand."""
    return staged.bucket if staged.catalogue[name].scope == "order" else "true"


def of_fresh_keys(staged: Staged, name: str) -> str:
    """Return the condition of the stored rows of a table that its fresh rows replace."""
    keys = staged.sets[name]
    if keys is None:
        return "true"
    table = staged.catalogue[name]
    key = str(key_of(table))
    bound = within(staged, keys, key, key) if table.scope in ENTITIES else "true"
    plain = f"{bound} and {key} in (select {key} from {keys} where {key} is not null)"
    null = f"({key} is null and exists (select 1 from {keys} where {key} is null))"
    return f"{plain} or {null}" if key == UNDATED else plain


def changed_rows(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the rows of a table that differ from before in what `item` reads of it, old and new ones."""
    return "({} union all {})".format(*sides(staged, name, item))


def sides(staged: Staged, name: str, item: Table | Check) -> tuple[str, str]:
    """Return selects of the rows that differ from before in what `item` reads of a table: the new, and the old ones."""
    columns = ", ".join(f't."{each}"' for each in columns_read(staged, name, item))
    table = staged.catalogue[name]
    keys = staged.sets[name]
    where = "true" if keys is None else _in(staged, name, keys)
    if keys is not None and table.scope in ENTITIES:
        where = f"{within(staged, keys, f't.{key_of(table)}', str(key_of(table)))} and {where}"
    fresh = f'select {columns} from fresh."{name}" as t'
    stored = f"select {columns} from warehouse.{name} as t where {where}"
    return f"({fresh} except all {stored})", f"({stored} except all {fresh})"


def columns_read(staged: Staged, name: str, item: Table | Check) -> list[str]:
    """Return the columns of a table that `item` reads, and those that name its rows."""
    table = staged.catalogue[name]
    names = [column.name for column in table.columns]
    if name in item.reads.stars:
        return names
    kept = {*item.reads.names, *table.key, *table.span, key_of(table)}
    return [each for each in names if each in kept]


def key_of(item: Table | Check) -> str | None:
    """Return the column whose values say which rows are touched; None where there is no such column."""
    return SCOPE_KEYS.get(item.scope)


def _columns(staged: Staged, name: str, item: Table | Check | None = None) -> str:
    """Return the columns of a table; in an increment only those that `item` reads, so that no other can be missed."""
    if item is None or staged.full:
        return ", ".join(f't."{column.name}"' for column in staged.catalogue[name].columns)
    return ", ".join(f't."{column}"' for column in columns_read(staged, name, item))


def _in(staged: Staged, name: str, keys: str) -> str:
    return f"exists (select 1 from {keys} as k where {_same(staged, name)})"


def _same(staged: Staged, name: str) -> str:
    key = key_of(staged.catalogue[name])
    return f"k.{key} {'is not distinct from' if key == UNDATED else '='} t.{key}"


def _restriction(staged: Staged, item: Table | Check, name: str, keys: str | None) -> str:
    """Return the condition under which a row of `name` is about `keys` of `item`."""
    table = staged.catalogue[name]
    if keys is None or staged.full:
        return "true"
    if table.scope == item.scope:
        days = f"{days_between(staged.con, keys)} and " if item.scope == "day" else ""
        return f"{days}{_in(staged, name, keys)}"
    if table.scope != "order" or item.scope not in {"customer", "day"}:
        return "true"
    has_key = any(column.name == SCOPE_KEYS[item.scope] for column in table.columns)
    if item.scope == "day" and has_key:
        same = "k.business_date is not distinct from t.business_date"
        return f"{days_between(staged.con, keys)} and exists (select 1 from {keys} as k where {same})"
    of, key = (keys, "customer_key") if has_key else (f'{ORDERS_OF}{item.name}"', "order_id")
    return f"exists (select 1 from {of} as k where k.{key} = t.{key})"


def _show_raw(staged: Staged, name: str, keys: str | None) -> None:
    entities = {f"raw.{entity.removesuffix('_id')}_checks": kind for kind, entity in relations.ENTITY.items()}
    if name in entities:
        kind = entities[name]
        entity = relations.ENTITY[kind]
        only = "true"
        if keys is not None:
            bounds = "true" if staged.full else within(staged, keys, "t.id", entity)
            only = f"{bounds} and exists (select 1 from {keys} as k where k.{entity} = t.id)"
        staged.con.execute(f"""
            create or replace view {name} as
            select t.id as {entity}, t.last_checked_at, t.last_verdict, t.misses, t.last_source
            from {STATES} as t
            where t.kind = '{kind}' and t.sha256 is not null and {only}
        """)
    elif name == "raw.states":
        staged.con.execute(f"""
            create or replace view raw.states as
            select
                kind, id, customer_key, last_good_at,
                {relations.IS_DELETED} as is_deleted, fetched_at as _fetched_at, fetch_load_id as _load_id,
                sha256 as _payload_sha256,
                last_checked_at, last_verdict, misses, last_source
            from {STATES}
        """)
