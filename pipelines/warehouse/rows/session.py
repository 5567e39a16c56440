"""Open DuckDB for a build, show each select the rows that it is about, and lay out a warehouse file.

A select names tables as readers do, `core.orders`, and does not know which build it serves. Before it runs, each table
that it reads becomes a view. In a full build that is a bucket of the file being filled. In an increment it is the fresh
rows (schema `fresh`) and, for all other keys, the stored ones (`warehouse`), restricted to the keys that the select is
about. A table that reads itself sees its rows from before the build. So one select serves bucket, increment and whole
table.

    mart.orders is made for the keys in touched."mart.orders", and core.orders has fresh rows for the same keys:
    core.orders is then  select … from fresh."core.orders" where its order_id is one of the keys
    core.stores is then  select … from warehouse.core.stores, since no store changed

The build's memory is in schema `build`, which no release holds: the loads that were applied, a state per (kind, id),
refused verdicts, and a fingerprint of all that shapes the tables.
"""

import functools
import hashlib
import json
import re
import resource
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import duckdb

from pipelines.landing.data_folder import erasures_state
from pipelines.landing.shape import read_sql
from pipelines.literals import literal
from pipelines.settings import Settings, kinds, settings_hash
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.catalogue import SQL, CatalogueError
from pipelines.warehouse.catalogue.tables import Check, Table
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.evidence.verdicts import create_candidates
from pipelines.warehouse.history import STATES, create_states
from pipelines.warehouse.inputs import relations, zones
from pipelines.warehouse.inputs.relations import create
from pipelines.warehouse.storage import memory_limit, not_opened, spill_folder

ENTITIES_WITH_TABLES = ("order", *(kinds.ENTITIES[kind] for kind in kinds.WHOLE_KINDS))
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
    ends = "min(business_date), max(business_date), bool_or(business_date is null)"
    first, last, has_null = con.execute(f"select {ends} from {keys}").fetchone() or (None, None, True)
    dated = "false" if first is None else f"t.business_date between date '{first}' and date '{last}'"
    return f"({dated} or t.business_date is null)" if has_null or has_null is None else dated


def _body(staged: Staged, item: Table | Check, name: str, keys: str | None) -> str:
    """Return the select of those rows of a table that an item about `keys` reads."""
    table = staged.catalogue[name]
    key = str(key_of(table))
    where = _restriction(staged, item, name, keys)
    if keys is None or staged.full or table.scope not in ENTITIES_WITH_TABLES:
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
    of_keys = "true" if keys is None else f"{within(staged, keys, f't.{key}', key)} and {_in(staged, name, keys)}"
    return f"""
        select {_columns(staged, name)} from warehouse.{name} as t where {of_keys}
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
    bound = within(staged, keys, key, key) if table.scope in ENTITIES_WITH_TABLES else "true"
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
    if keys is not None and table.scope in ENTITIES_WITH_TABLES:
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
        kind, only = entities[name], "true"
        entity = relations.ENTITY[kind]
        if keys is not None:
            bounds = "true" if staged.full else within(staged, keys, "t.id", entity)
            only = f"{bounds} and exists (select 1 from {keys} as k where k.{entity} = t.id)"
        staged.con.execute(f"""
            create or replace view {name} as
            select t.id as {entity}, t.last_checked_at, t.last_verdict, t.misses, t.last_source
            from {STATES} as t where t.kind = '{kind}' and t.sha256 is not null and {only}
        """)
    elif name == "raw.states":
        staged.con.execute(f"""
            create or replace view raw.states as
            select kind, id, customer_key, last_good_at, {relations.IS_DELETED} as is_deleted,
                fetched_at as _fetched_at, fetch_load_id as _load_id, sha256 as _payload_sha256,
                last_checked_at, last_verdict, misses, last_source from {STATES}
        """)


SHAPING = ("settings", "landing", "inbox", "ledger", "warehouse")  # packages whose code makes rows
_SMALL = 64 * 2**20  # bytes of a warehouse: ten thousand orders or so
READ_ONLY = "(read_only)"
LAYOUT = 4  # of schema `build`; another number means a rebuild


@contextmanager
def session(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an in-memory database that spills below data/, in UTC, with the schemas of a build and what settings say."""
    with plain_session(settings) as con:
        _create_settings(con, settings)
        _create_formula_settings(con, settings)
        create_candidates(con)
        con.from_arrow(zones.zone_offsets()).create("raw.zone_offsets")
        yield con


@contextmanager
def plain_session(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the database of a session for work that makes no rows: without settings, candidates and time zones."""
    limit, threads = memory_limit(settings), settings.warehouse.threads
    with spill_folder(settings.data_dir) as spill, in_memory(spill, limit, threads) as con:
        yield con


@contextmanager
def in_memory(spill: Path, memory: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an in-memory database with the empty schemas and the functions of a build; 0 threads are all cores."""
    config: dict[str, Any] = storage.SESSION | {"memory_limit": memory, "temp_directory": str(spill)}
    config |= {"autoinstall_known_extensions": False} | ({"threads": threads} if threads else {})
    with duckdb.connect(":memory:", config=config) as con:
        schemas = [f"create schema {schema}" for schema in ("raw", "fresh", "touched", *catalogue.SCHEMAS)]
        con.execute("; ".join(["set timezone = 'UTC'", *schemas]))
        create_functions(con)
        yield con


def use_few_threads(con: duckdb.DuckDBPyConnection, settings: Settings, file: Path) -> None:
    """Take one thread for work on a small file: to share out so little costs more CPU than it saves time."""
    if not settings.warehouse.threads and file.stat().st_size < _SMALL:
        con.execute("set threads = 1")


def memory_bytes(con: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes DuckDB may use: it says so in words, such as 810.6 MiB."""
    row = con.execute("select current_setting('memory_limit')").fetchone()
    number, unit = str(row and row[0]).split()
    return int(Decimal(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))


@contextmanager
def attached(con: duckdb.DuckDBPyConnection, file: Path, options: str = "") -> Iterator[None]:
    """Attach a file as `warehouse`; on leaving, write all of it to the file itself and detach it.

    With READ_ONLY nothing is written, and it may be copied meanwhile. Raise NotOpenedError if somebody else has it.
    """
    try:
        con.execute(f"attach {literal(file)} as warehouse {options}")
    except duckdb.Error as error:
        raise not_opened(error, file) or error from None
    try:
        yield
    except BaseException:
        con.execute("use memory")  # the default database cannot be detached
        con.execute("detach database if exists warehouse")
        raise
    if options != READ_ONLY:
        con.execute("checkpoint warehouse")
    con.execute("detach warehouse")


def attached_draft(con: duckdb.DuckDBPyConnection, file: Path) -> AbstractContextManager[None]:
    """Attach a new file as `warehouse` that nobody needs before all of it is written: it keeps no log."""
    return attached(con, file, storage.DRAFT)


def reopen_draft(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write what an attached draft holds so far to its file, and free its memory.

    DuckDB keeps what it has read or written of each row group until a file is detached, and looks through all of it
    whenever it writes: after eight buckets of a million orders that is 200 MB.
    """
    with closed_draft(con, file):
        pass


@contextmanager
def closed_draft(con: duckdb.DuckDBPyConnection, file: Path) -> Iterator[None]:
    """Write all of an attached draft to its file, detach it so that others may read it, and attach it again."""
    con.execute("checkpoint warehouse")
    con.execute("detach warehouse")
    yield
    con.execute(f"attach {literal(file)} as warehouse {storage.DRAFT}")


def lay_out(con: duckdb.DuckDBPyConnection, tables: Iterable[Table], *, comments: bool = True) -> None:
    """Create tables of the catalogue in `warehouse`, with their comments, and schema `build`."""
    con.execute("begin")  # one write to disk instead of hundreds
    for schema in (*catalogue.SCHEMAS, "build"):
        con.execute(f"create schema warehouse.{schema}")
    for table in tables:
        columns = storage.spelled((column.name, column.type) for column in table.columns)
        con.execute(f"create table warehouse.{table.name} ({columns})")
        if comments:
            meanings = ((column.name, column.description) for column in table.columns)
            storage.comment(con, f"warehouse.{table.name}", table.description, meanings)
    create_states(con, "warehouse.build.states")
    refusals = ", ".join(f"{column} {kind}" for column, kind in relations.OBSERVATION.items())
    con.execute(f"create table warehouse.build.refusals ({refusals})")
    con.execute("create table warehouse.build.loads (load_id varchar, kind varchar)")
    con.execute("create table warehouse.build.months (table_name varchar, month varchar, changed_in varchar)")
    memory = "layout integer, fingerprint varchar, sources varchar, commit_id varchar, shown_in varchar"
    con.execute(f"create table warehouse.build.memory ({memory})")
    con.execute("commit")


@dataclass(frozen=True)
class Memory:
    """The inputs of the tables besides raw: the fingerprint, and the state of each source."""

    fingerprint: dict[str, str]
    sources: dict[str, str]

    def changed_sources(self, now: Self) -> set[str]:
        """Return the sources that have another state now."""
        return {name for name in now.sources if self.sources.get(name) != now.sources[name]}


def remember(con: duckdb.DuckDBPyConnection, memory: Memory, parts: str, *, is_shown: bool) -> None:
    """Write the inputs of the tables, and which parts of them (a relation of table_name and month) this changed.

    `is_shown`: the changes concern readers, so that a release without them shows something else.
    """
    commit = secrets.token_hex(8)
    before = con.execute("select shown_in from warehouse.build.memory").fetchone()
    shown_in = commit if is_shown or before is None else before[0]
    fingerprint, sources = (json.dumps(each, sort_keys=True) for each in (memory.fingerprint, memory.sources))
    con.execute("delete from warehouse.build.memory")
    values = [LAYOUT, fingerprint, sources, commit, shown_in]
    con.execute("insert into warehouse.build.memory values (?, ?, ?, ?, ?)", values)
    con.execute(f"""
        delete from warehouse.build.months as t
        where exists (select 1 from {parts} as p where p.table_name = t.table_name and p.month = t.month)
    """)
    con.execute(f"insert into warehouse.build.months select table_name, month, '{commit}' from {parts}")


def remembered(con: duckdb.DuckDBPyConnection) -> Memory | None:
    """Return the inputs of the attached warehouse, None where another version of the code laid it out."""
    try:
        row = con.execute("select layout, fingerprint, sources from warehouse.build.memory").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException):
        return None
    return Memory(json.loads(row[1]), json.loads(row[2])) if row and row[0] == LAYOUT else None


def note_loads(con: duckdb.DuckDBPyConnection, loads: Mapping[str, Sequence[str]]) -> None:
    """Add these loads by kind, and the refused verdicts in raw.observations, to what the attached warehouse knows."""
    columns = ", ".join(relations.OBSERVATION)
    refused = f"select {columns} from raw.observations where verdict in ('quarantined', 'failed')"
    con.execute(f"insert into warehouse.build.refusals {refused}")
    for kind, ids in loads.items():
        con.execute("insert into warehouse.build.loads select unnest(?::varchar[]), ?", [ids, kind])


def applied_loads(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the loads that the attached warehouse was made of."""
    return {str(row[0]) for row in con.execute("select load_id from warehouse.build.loads").fetchall()}


def fingerprint_of(settings: Settings) -> dict[str, str]:
    """Return a hash per input of the tables besides landed documents."""
    return {
        **code_fingerprint(),
        "the timezones": zones.version(),
        "the settings": settings_hash(settings, "business_day", "sales", "menus", "privacy", "formula", "finance")
        + f" {sorted(settings.closing.replaced_orders)}",
        "the erasures": erasures_state(settings.data_dir),
    }


@functools.cache
def code_fingerprint() -> Mapping[str, str]:
    """Return a hash per thing that makes rows, whatever the settings: the same on all machines of a build.

    All code that the rows of a build come through is hashed: a rebuild too many is cheap, one too few is wrong. A
    process reads the files once.
    """
    packages = Path(__file__).parents[2]
    code = sorted(path for name in SHAPING for path in (packages / name).rglob("*.py"))
    sql = sorted(catalogue.SQL.rglob("*.*"))
    return {"sql/": _hash_files(sql), "the code that makes rows": _hash_files(code), "DuckDB": duckdb.__version__}


def _create_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    day, sales, privacy, formula = settings.business_day, settings.sales, settings.privacy, settings.formula
    codes = {name.strip().upper(): code for name, code in settings.finance.currency_codes.items()}
    row = (
        *(day.time_field, day.timezone, day.day_start, *day.possible_times, day.zone_changes, day.daypart_of_hour),
        *(list(sales.counted_statuses), list(sales.excluded_statuses), settings.menus.product_id_scope),
        *(list(privacy.plaintext_fields), list(privacy.known_fields), privacy.customer_key),
        *(formula.total_rule, formula.subtotal_rule, formula.min_distinguishing_orders, formula.max_violation_rate),
        *(settings.finance.currency, {"key": [*codes], "value": [*codes.values()]}, settings.finance.duplicate_minutes),
        list(settings.closing.replaced_orders),
    )
    create(con, "raw.settings")
    con.execute(f"insert into raw.settings values ({', '.join('?' * len(row))})", row)


def rules_of_settings(settings: Settings) -> list[tuple[Any, ...]]:
    """Return the rules that settings name, by setting_no from 1: target, rule and scope."""
    formula = settings.formula
    plain = (("subtotal", formula.subtotal_rule), ("total", formula.total_rule))
    rules: list[tuple[Any, ...]] = [(target, rule, *[None] * 6, []) for target, rule in plain if rule]
    return rules + [(each.rule_target, each.rule, *each.scope) for each in formula.rule]


def _create_formula_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Fill the relations of the rules and components that settings name; plain rules come first."""
    for name in ("raw.formula_settings", "raw.formula_components"):
        create(con, name)
    for number, row in enumerate(rules_of_settings(settings), 1):
        con.execute(f"insert into raw.formula_settings values ({', '.join('?' * 10)})", [number, *row])
    for number, of in enumerate(settings.formula.component, 1):
        said = (value or None for value in (of.constant, of.share, of.base, of.price_factor, of.step, of.round))
        values = [number, of.name, *said, *of.scope]
        con.execute(f"insert into raw.formula_components values ({', '.join('?' * 15)})", values)


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def create_functions(con: duckdb.DuckDBPyConnection, kind: str = "macro") -> None:
    """Create every function in the current database, for all SQL of a build; raise CatalogueError for a bad header.

    `kind` is `temp macro` for a database that is open to readers alone.
    """
    macros = []
    for path in sorted((SQL / "functions").glob("*.sql")):
        expression = read_sql(path)
        head = re.match(rf"-- ({path.stem}\([\w, ]*\)): ", expression)
        if not head:
            raise CatalogueError(f"functions/{path.name} must start with `-- {path.stem}(…): ` and its meaning")
        macros.append(f"create {kind} {head[1]} as {expression}")
    con.execute("\n;\n".join(macros))


# Steps that make no table: observations put in order, documents given types.
OBSERVATIONS, DOCUMENTS = "(observations)", "(documents)"
_RESET_PEAK = "5"  # written to clear_refs: proc_pid_clear_refs(5)
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class TableCost:
    """What one table or check took in all its parts; `peak` is the most memory of the process meanwhile, in bytes."""

    clock_ns: int = 0
    cpu_ns: int = 0
    peak: int = 0


Profile = dict[str, TableCost]  # by the name of a table or check
_CURRENT: ContextVar[Profile | None] = ContextVar("profile", default=None)


@contextmanager
def profiled() -> Iterator[Profile]:
    """Measure all that is built in this block."""
    profile: Profile = {}
    token = _CURRENT.set(profile)
    try:
        yield profile
    finally:
        _CURRENT.reset(token)


@contextmanager
def measure_cost(name: str) -> Iterator[None]:
    """Add what this block costs to `name`, where a build is profiled."""
    if _CURRENT.get() is None:
        yield
        return
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    clock, cpu = time.perf_counter_ns(), time.process_time_ns()
    yield
    add_costs({name: TableCost(time.perf_counter_ns() - clock, time.process_time_ns() - cpu, _peak())})


def add_costs(other: Profile) -> None:
    """Add what was measured, perhaps in another process, where a build is profiled."""
    profile = _CURRENT.get()
    if profile is None:
        return
    for name, cost in other.items():
        known = profile.setdefault(name, TableCost())
        known.clock_ns += cost.clock_ns
        known.cpu_ns += cost.cpu_ns
        known.peak = max(known.peak, cost.peak)


def _peak() -> int:
    """Return the largest memory of this process since it was last reset; of all its life where Linux does not tell."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
