"""Bring the warehouse up to date with new loads: recompute only what they affect, in one commit.

New loads give the ids whose documents changed. Each table asks which of its keys (orders, menus, stores, customers or
business days) those changes reach through the tables that it reads. Its rows for these keys are made and checked beside
the warehouse, and laid over the stored ones: if none differs, the change ends there; if some do, only what reads one of
the differing columns goes on. One transaction then replaces the differing rows of all tables. Over-selecting is safe
but slow, under-selecting is a bug, so tests compare increments with rebuilds.

    Order 204856 arrives again with a tip of 1.00 instead of 0.00:

    core.orders             key 204856       `tip` differs
    core.order_lines        key 204856       equal: what reads lines alone is left alone
    mart.orders             key 204856       reads core.orders; `tip` and its sums differ
    mart.daily_store_sales  day 2026-10-17   reads `tip` of mart.orders
    mart.product_mix        no key           reads no tip

docs/ARCHITECTURE.md has the rule by scope. If an order table reads a table of another scope (stores, products), a
changed row there affects the orders with the same value in a key column of the same name; if they share no name, all
orders. What reads a changed source is recomputed whole. Each by-day table reads other columns of the orders, so one
flag a column is kept for each row that differs. When the price on a menu changes, one interval ends and another begins,
but prices before that moment are unchanged: only orders created while old and new price differ are affected.

A change concerns readers if a row of core or mart differs, or an open decision (a finding, a break, a restatement, a
control total and the like). Another observation of the same document does not, nor do logs of runs.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import duckdb

from pipelines.landing.raw_folder import RawFiles
from pipelines.settings.kinds import ENTITIES
from pipelines.warehouse import catalogue, history
from pipelines.warehouse.catalogue.selects import filled
from pipelines.warehouse.catalogue.tables import BUSINESS, CREATED, WHOLE, Check, Table, month_of, months_of_days
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.relations import by_loads, create_documents, create_notes, create_observations
from pipelines.warehouse.rows import session
from pipelines.warehouse.rows.fresh_rows import FINDINGS, CheckResult, Making, differ, require_increment_ties
from pipelines.warehouse.rows.session import ENTITIES_WITH_TABLES, Memory, Staged, between, note_loads, remember, within
from pipelines.warehouse.storage import count_of

_LONE = "stands on one side alone"
_FEW = 50_000  # rows of a whole table that are laid over each other; of more, only whether any differs is known


def note_differences(staged: Staged, table: Table, rows: int) -> None:
    """Note in which columns a table's fresh rows, so many, differ from those they replace; drop them if in none."""
    columns = [column.name for column in table.columns]
    if not rows:
        gone = staged.con.execute(f"select 1 from {_both(staged, table.name)[1]} limit 1").fetchall()
        found = columns if gone else []
    elif table.key and (staged.sets[table.name] is not None or rows <= _FEW):
        others = _others(table)
        flags = ", ".join(f'bool_or("{each}")' for each in (_LONE, *others))  # null without rows
        laid_over = _laid_over(staged, table, others)
        ((is_lone, *differs),) = staged.con.execute(f"select {flags} from ({laid_over})").fetchall()
        found = columns if is_lone else [each for each, differing in zip(others, differs, strict=True) if differing]
    else:
        found = columns if differ(staged.con, *_both(staged, table.name)) else []
    if found:
        staged.differing[table.name] = frozenset(found)
    else:
        del staged.sets[table.name]


def reads_change(staged: Staged, name: str, item: Table | Check) -> bool:
    """Tell whether a table was recomputed and differs from before in what `item` reads of it."""
    if name not in staged.sets:
        return False
    differing = staged.differing.get(name)  # None: not compared
    return differing is None or not differing.isdisjoint(session.columns_read(staged, name, item))


def changed_orders(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the orders of which rows of a table of orders differ from before in what `item` reads."""
    table = staged.catalogue[name]
    if not table.key or staged.sets[name] is None:
        return f"select distinct order_id from {session.changed_rows(staged, name, item)}"
    relation, others = f'touched."differences of {name}"', _others(table)
    if name not in staged.compared:
        differs = " or ".join(f'"{each}"' for each in (_LONE, *others))
        rows = f"from ({_laid_over(staged, table, others)}) where {differs}"
        staged.con.execute(f"create or replace table {relation} as {rows}")
        staged.compared.add(name)
    read = set(session.columns_read(staged, name, item))
    differing = [f'"{each}"' for each in (_LONE, *(each for each in others if each in read))]
    return f"select distinct order_id from {relation} where {' or '.join(differing)}"


def _others(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.name not in (*table.key, session.key_of(table))]


def _laid_over(staged: Staged, table: Table, columns: list[str]) -> str:
    """Return a select of the fresh and the stored rows of the same keys: which of these columns differ in a row."""
    scope_key = session.key_of(table)
    key = dict.fromkeys((*table.key, *([scope_key] if scope_key else [])))
    is_null = {column.name: column.nullable for column in table.columns}
    same = " and ".join(f'n."{part}" {"is not distinct from" if is_null[part] else "="} o."{part}"' for part in key)
    flags = "".join(f', n."{each}" is distinct from o."{each}" as "{each}"' for each in columns)
    fresh, stored = (f"(select *, true as is_there from {side})" for side in _both(staged, table.name))
    shown = f'coalesce(n."{scope_key}", o."{scope_key}") as "{scope_key}",' if scope_key else ""
    return f"""
        select
            {shown}
            n.is_there is null or o.is_there is null as "{_LONE}"
            {flags}
        from {fresh} as n
        full join {stored} as o on {same}
    """


def _both(staged: Staged, name: str) -> tuple[str, str]:
    """Return the fresh rows of a table, and the stored ones that they replace."""
    return f'(from fresh."{name}")', f"(from warehouse.{name} where {session.of_fresh_keys(staged, name)})"


KINDS = {entity: kind for kind, entity in ENTITIES.items()}
CHECKS = "raw.order_checks"


def touched(staged: Staged, item: Table | Check) -> str | None:
    """Return the relation of keys that `item` is about in this increment; None: of no key, but everything."""
    if item.scope in KINDS:
        return _entities(staged, item)
    if item.scope == "day":
        return _days(staged, item)
    if item.scope == "customer":
        return _customers(staged, item)
    return "touched.loads" if item.scope == "load" else None


def has_keys(staged: Staged, keys: str) -> bool:
    """Tell whether a relation of keys, which no longer changes, has any."""
    if keys not in staged.has_keys:
        staged.has_keys[keys] = _any(staged, keys)
    return staged.has_keys[keys]


def is_stale(staged: Staged, item: Table | Check) -> bool:
    """Tell whether a table or check without keys of its own must be recomputed: something it reads changed."""
    return any(
        reads_change(staged, name, item)
        or name in staged.sources
        or (name in {"raw.states", "raw.refusals", "raw.findings"} and has_keys(staged, "touched.loads"))
        for name in item.depends_on
    )


def _entities(staged: Staged, item: Table | Check) -> str:
    kind = KINDS[item.scope]
    entity = relations.ENTITY[kind]
    bases = _raw_bases(item, kind)
    others = []
    for name in item.depends_on:
        if not reads_change(staged, name, item):
            continue
        if staged.catalogue[name].scope == item.scope:
            bases.add(str(staged.sets[name]))
        else:
            others.extend(_through(staged, item, name))
    if staged.sources.intersection(item.depends_on):
        others.append(_held(staged, item, entity))
    checked, changed = f"touched.checked_{kind}", f"touched.changed_{kind}"
    if checked in bases:
        bases -= {changed, f"touched.versioned_{kind}"}
    if len(bases) > 1:
        bases = {base for base in bases if has_keys(staged, base)}
    if len(bases) < 2 and not others:
        return bases.pop() if bases else f"touched.no_{kind}"
    selects = [f"select {entity} from {base}" for base in sorted(bases)] + others
    return _keep(staged, item, " union ".join(selects))


def _held(staged: Staged, item: Table | Check, entity: str) -> str:
    """Return a select of all that a table holds; a check holds nothing, and is about all of its kind."""
    if item.name in staged.catalogue:
        return f"select {entity} from warehouse.{item.name}"
    return f"select id as {entity} from {history.STATES} where kind = '{KINDS[item.scope]}' and sha256 is not null"


def _raw_bases(item: Table | Check, kind: str) -> set[str]:
    bases = set()
    if f"raw.latest_{kind}" in item.depends_on:
        bases.add(f"touched.changed_{kind}")
    if f"raw.{item.scope}_checks" in item.depends_on:
        bases.add(f"touched.checked_{kind}")
    if {f"raw.{item.scope}_versions", f"raw.{item.scope}_edits"} & set(item.depends_on):
        # a store's versions say when it was last listed
        bases.add(f"touched.checked_{kind}" if kind == "stores" else f"touched.versioned_{kind}")
    if f"raw.{item.scope}_sightings" in item.depends_on:
        bases.add(f"touched.checked_{kind}")
    return bases


def _through(staged: Staged, item: Table | Check, name: str) -> list[str]:
    """Return selects of the entities of `item` that changed rows of another scope's table may touch."""
    entity = str(session.key_of(item))
    rows = session.changed_rows(staged, name, item)
    if not _any(staged, rows):
        return []
    if staged.catalogue[name].key == (entity,):
        return [f"select {entity} from {rows}"]
    if item.scope == "order" and staged.catalogue[name].span and CREATED_AT in item.reads.names:
        orders = _tables_read(staged, item, "order")
        clocks = [each.name for each in orders if any(column.name == CREATED_AT for column in each.columns)]
        if clocks:  # tables of orders that know when an order was created
            return orders_within(staged, item, name, clocks[0])
    selects = [
        f"select t.{entity} from ({session.projected_rows_sql(staged, own.name)}) as t "
        f"where t.{shared} in (select {shared} from {rows})"
        for own in _tables_read(staged, item, item.scope)
        for shared in staged.catalogue[name].key
        if shared in {column.name for column in own.columns}
    ]
    if selects:
        return selects
    kind = KINDS[item.scope]
    return [f"select id as {entity} from {history.STATES} where kind = '{kind}' and sha256 is not null"]


def _days(staged: Staged, item: Table | Check) -> str:
    orders = _tables_read(staged, item, "order")
    dated = [each.name for each in orders if any(column.name == SCOPE_KEYS["day"] for column in each.columns)]
    selects = []
    everything = bool(staged.sources.intersection(item.depends_on))
    for name in item.depends_on:
        if not reads_change(staged, name, item):
            continue
        table = staged.catalogue[name]
        if table.scope == "day":
            selects.append(f"select business_date from {staged.sets[name]}")
        elif table.scope == "order":
            where = _is_changed(staged, name, item)
            sides = [side for day in dated for side in _sides(staged, day)]
            selects += [f"select business_date from {side} where {where}" for side in sides]
        else:
            everything = everything or _any(staged, session.changed_rows(staged, name, item))
    if CHECKS in item.depends_on:
        where = _is_among(staged, "touched.checked_orders")
        selects += [f"select business_date from {side} where {where}" for day in dated for side in _sides(staged, day)]
    if everything:
        selects += [f"select business_date from ({session.projected_rows_sql(staged, day)})" for day in dated]
    keys = _keep(staged, item, " union ".join(selects) or "select null::date as business_date limit 0")
    if CHECKS in item.depends_on or len(dated) < len(orders):
        of_days = " union ".join(
            f"""
            select t.order_id from ({session.projected_rows_sql(staged, day)}) as t
            where {session.days_between(staged.con, keys)}
                and exists (select 1 from {keys} as k where k.business_date is not distinct from t.business_date)
            """
            for day in dated
        )
        staged.con.execute(f'create or replace table touched."orders of {item.name}" as {of_days}')
    return keys


def _customers(staged: Staged, item: Table | Check) -> str:
    """Return the customers, old and new, of the orders whose rows changed in the columns that are read."""
    orders = _tables_read(staged, item, "order")
    keyed = [each.name for each in orders if any(column.name == SCOPE_KEYS["customer"] for column in each.columns)]
    selects = ["select null::varchar as customer_key limit 0"]
    for name in item.depends_on:
        if reads_change(staged, name, item):
            where = _is_changed(staged, name, item)
            selects += [f"select customer_key from {side} where {where}" for of in keyed for side in _sides(staged, of)]
    keys = _keep(staged, item, " union ".join(f"({each})" for each in selects))
    if len(keyed) < len(orders):
        rows = session.projected_rows_sql(staged, keyed[0], f"t.customer_key in (from {keys})")
        staged.con.execute(f'create or replace table touched."orders of {item.name}" as select order_id from ({rows})')
    return keys


def _is_changed(staged: Staged, name: str, item: Table | Check) -> str:
    """Return the condition of the orders of which rows of a table changed in what `item` reads."""
    changed, select = f'touched."changed {name}"', changed_orders(staged, name, item)
    if staged.shown.get(changed) != select:  # most items read the same columns
        staged.con.execute(f"create or replace table {changed} as {select}")
        staged.shown[changed] = select
    return _is_among(staged, changed)


def _is_among(staged: Staged, orders: str) -> str:
    return f"{session.between(staged.con, orders, 'order_id', 'order_id')} and order_id in (from {orders})"


def _sides(staged: Staged, name: str) -> list[str]:
    """Return the relations of a table's rows as they were and, where there are some, as they are now."""
    return [f"warehouse.{name}"] + ([f'fresh."{name}"'] if name in staged.sets else [])


def _tables_read(staged: Staged, item: Table | Check, scope: str) -> list[Table]:
    """Return the tables of a scope that an item reads."""
    read = (staged.catalogue[name] for name in item.depends_on if not name.startswith("raw."))
    return [table for table in read if table.scope == scope]


def _keep(staged: Staged, item: Table | Check, select: str) -> str:
    relation = f'touched."{item.name}"'
    staged.con.execute(f"create or replace table {relation} as select distinct * from ({select})")
    return relation


def _any(staged: Staged, relation: str) -> bool:
    return staged.con.execute(f"select 1 from {relation} limit 1").fetchone() is not None


CREATED_AT = "created_at"


def orders_within(staged: Staged, item: Table | Check, name: str, clock: str) -> list[str]:
    """Return selects of the orders that changed rows of `name`, a table of intervals, may touch."""
    con = staged.con
    spans, orders = f'touched."spans of {name}"', f'touched."created in spans of {name}"'
    con.execute(f"create or replace table {spans} as {_changed_spans(staged, name, item)}")
    con.execute(f"""
        create or replace table {orders} as
        select t.order_id, t.{CREATED_AT} from ({session.projected_rows_sql(staged, clock)}) as t
        where t.{CREATED_AT} >= (select min(span_from) from {spans})
            and t.{CREATED_AT} < (select max(span_until) from {spans})
    """)
    near = session.between(con, orders, "t.order_id", "order_id")
    selects = [
        f"""
        select t.order_id from ({session.projected_rows_sql(staged, own.name, near)}) as t
        inner join {orders} as o on t.order_id = o.order_id
        inner join (select distinct {shared}, span_from, span_until from {spans}) as s
            on t.{shared} = s.{shared} and o.{CREATED_AT} >= s.span_from and o.{CREATED_AT} < s.span_until
        """
        for own in _tables_read(staged, item, "order")
        for shared in staged.catalogue[name].key
        if shared in {column.name for column in own.columns}
    ]
    return selects or [f"select order_id from {orders}"]


def _changed_spans(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the key of rows, and the stretches of time in which they say other than before."""
    table = staged.catalogue[name]
    since, until = table.span or ("", "")
    said = ", ".join(f'"{each}"' for each in session.columns_read(staged, name, item) if each not in {since, until})
    key = ", ".join(f'"{each}"' for each in table.key if each not in {since, until})
    ends = f"coalesce({until}, cast('infinity' as timestamptz))" if until else "cast('infinity' as timestamptz)"
    events = " union all ".join(
        f"select {said}, {at} as at_time, {step} as step from {side}"
        for side, sign in zip(session.sides(staged, name, item), (1, -1), strict=True)
        for at, step in ((f"coalesce({since}, cast('-infinity' as timestamptz))", sign), (ends, -sign))
    )
    return filled("changed_spans", key=key, said=said, events=events)


# More changed orders than this, and more than half of all, are built faster and in less memory by a full build.
ALWAYS_AN_INCREMENT = 100_000
_KNOWN = "touched.known_states"
_WHOLE = f"select '{WHOLE}' as month"
_IDENTITY = ("versions", "sha256", "fetched_at", "fetch_load_id", "customer_key", relations.IS_DELETED)


Raw = Mapping[str, RawFiles]
Loads = Mapping[str, list[str]]  # of each kind
Progress = Callable[[str, int, int], None]  # what, done, total


class Applied(NamedTuple):
    """What a build found and changed: tables of which a row differs, and checks of which a finding does."""

    results: list[CheckResult]
    tables: frozenset[str]
    checks: frozenset[str]
    validated: Mapping[str, int]  # rows, by table


def find_changes(con: duckdb.DuckDBPyConnection, raw: Raw, new: Loads) -> bool:
    """Fold the new loads into states and record the affected ids; return whether an increment is the faster way."""
    loads = [load_id for each in new.values() for load_id in each]
    paths = [f.path for kind, files in raw.items() for f in files.observations if set(f.load_ids) & set(new[kind])]
    create_observations(con, "raw.observations", paths, loads)
    create_notes(con, {kind: by_loads(files.documents, new[kind])[0] for kind, files in raw.items()}, loads)
    # keep the stored states of the ids in raw.observations at hand: all states are looked through only once
    selects = [
        f"""
        select t.* from warehouse.build.states as t
        where t.kind = '{kind}' and {between(con, f"(from raw.observations where kind = '{kind}')", "t.id", "id")}
            and exists (select 1 from raw.observations as o where o.kind = t.kind and o.id = t.id)
        """
        for kind in relations.ENTITY
    ]
    con.execute(f"create or replace table {_KNOWN} as {' union all '.join(selects)}")
    history.create_late(con, "raw.observations", _KNOWN, "touched.late")
    _fold_new(con, raw, loads)
    counts = con.execute("""
        select
            (select count(*) from touched.changed_orders),
            (select count(*) from warehouse.build.states where kind = 'orders')
    """).fetchone()
    changed, known = counts or (0, 0)
    return bool(changed <= ALWAYS_AN_INCREMENT or changed * 2 <= known)


def _fold_new(con: duckdb.DuckDBPyConnection, raw: Raw, loads: list[str]) -> None:
    """Fold the new loads, and all observations of the ids in touched.late."""
    not_late = "not exists (from touched.late as late where late.kind = t.kind and late.id is not distinct from t.id)"
    history.create_states(con, "raw.fresh_states")
    history.create_states(con, "touched.nothing")
    later = f"(select * from raw.observations as t where {not_late})"
    history.fold(con, later, _KNOWN, "raw.fresh_states")
    late = count_of(con.execute("select count(*) from touched.late"))
    if late:
        _fold_anew(con, raw)
    history.find_new_runs(con, later, _KNOWN, "touched.late_observations" if late else None)
    _note_touched(con, loads)


def apply_changes(
    con: duckdb.DuckDBPyConnection, raw: Raw, new: Loads, memory: Memory, sources: set[str], progress: Progress
) -> Applied:
    """Make what find_changes noted, and what reads one of these sources; check it, and commit the rows that differ.

    Raise BuildBlocked when a blocking check found anything, TiesBroken when totals over all rows do not tie out: the
    warehouse is then as it was.
    """
    for kind, files in raw.items():
        fresh, older = by_loads(files.documents, new[kind])
        create_documents(con, kind, fresh, "raw.changed_states", older)
        if kind == "orders" and _find_replaced(con):
            _fold_new(con, raw, [load_id for each in new.values() for load_id in each])
            create_documents(con, kind, fresh, "raw.changed_states", older)
    history.create_new_versions(con, raw, new)
    making = Making(con, full=False)
    making.staged.sources = set(sources)
    _make_touched(making, progress)
    making.tally.raise_if_blocked()
    changed, checks = set(making.staged.sets), changed_checks(making)
    is_shown = bool(checks) or any(concerns_readers(making, name) for name in changed)
    parts = _parts(making, changed, has_other_findings=bool(checks))
    con.execute("begin")
    try:
        for name in changed:
            making.replace(name)
        if checks:
            columns, findings, replaced = _findings(making)
            for condition in replaced:
                con.execute(f"delete from warehouse.{FINDINGS} where {condition}")
            con.execute(f"insert into warehouse.{FINDINGS} ({columns}) {findings}")
        _replace_memory(con, new)
        remember(con, memory, parts, is_shown=is_shown)
        require_increment_ties(con, making.tally)
        con.execute("commit")
    except BaseException:
        con.execute("rollback")
        raise
    tables = frozenset(changed | ({FINDINGS} if checks else set()))
    return Applied(making.results(), tables, frozenset(checks), making.tally.validated)


def _make_touched(making: Making, progress: Progress) -> None:
    staged = making.staged
    later = [table for table in catalogue.tables() if FINDINGS in table.depends_on]
    others = (table for table in catalogue.tables() if table.name != FINDINGS and table not in later)
    items: list[Table | Check] = [*others, *catalogue.looks()]
    for number, item in enumerate(items):
        progress("building what changed", number + 1, len(items))
        keys = touched(staged, item)
        if keys is None and not is_stale(staged, item):
            continue
        if keys is not None and not has_keys(staged, keys):
            continue
        if isinstance(item, catalogue.Table):
            note_differences(staged, item, making.make(item, keys))
        else:
            making.look(item, keys)
    _make_after_findings(making, later)


def _make_after_findings(making: Making, tables: list[catalogue.Table]) -> None:
    """Make tables that read audit.findings, with its rows as they will be."""
    staged = making.staged
    if making.looked:
        columns, fresh, replaced = _findings(making)
        making.con.execute(f"""
            create or replace view fresh."{FINDINGS}" as
            select {columns} from warehouse.{FINDINGS} where not ({" or ".join(replaced)}) union all {fresh}
        """)
        staged.sets[FINDINGS] = None
    for table in tables:
        if is_stale(staged, table):
            note_differences(staged, table, making.make(table, None))
    staged.sets.pop(FINDINGS, None)  # its rows are replaced check by check


def _fold_anew(con: duckdb.DuckDBPyConnection, raw: Raw) -> None:
    """Fold all observations of the ids in touched.late, of every load there is."""
    paths = [f.path for files in raw.values() for f in files.observations]
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    create_observations(con, "touched.late_observations", paths, loads, only="touched.late")
    history.create_states(con, "touched.late_states")
    history.fold(con, "touched.late_observations", "touched.nothing", "touched.late_states")
    con.execute("insert into raw.fresh_states from touched.late_states")


def _find_replaced(con: duckdb.DuckDBPyConnection) -> int:
    """Add to touched.late the orders with another creation time, and those held: which version counts, all tell."""
    return count_of(
        con.execute(f"""
            insert into touched.late
            select 'orders', order_id
            from raw.latest_orders as t
            inner join warehouse.core.orders as stored using (order_id)
            inner join {_KNOWN} as known on known.kind = 'orders' and known.id = order_id
            cross join raw.settings as s
            where {between(con, "touched.changed_orders", "stored.order_id", "order_id")}
                and (
                    known.sha256 <> stored._payload_sha256 or stored.created_at is distinct from
                    instant_within_range(t.document.created_at, s.business_day_from, s.business_day_until)
                )
                and not exists (select 1 from touched.late as l where l.kind = 'orders' and l.id = order_id)
        """)
    )


def _note_touched(con: duckdb.DuckDBPyConnection, loads: list[str]) -> None:
    fresh, stored = (", ".join(f"{alias}.{part}" for part in _IDENTITY) for alias in ("fresh", "stored"))
    con.execute(f"""
        create or replace table raw.changed_states as
        select fresh.* from raw.fresh_states as fresh
        left join {_KNOWN} as stored on fresh.kind = stored.kind and fresh.id = stored.id
        where fresh.sha256 is not null
            and row({fresh}) is distinct from row({stored})
    """)
    for kind, entity in relations.ENTITY.items():
        for name, source in (("changed", "raw.changed_states"), ("checked", "raw.fresh_states")):
            con.execute(f"""
                create or replace table touched.{name}_{kind} as
                select id as {entity} from {source} where kind = '{kind}' and sha256 is not null
            """)
        con.execute(f"create or replace table touched.no_{kind} ({entity} bigint)")
    con.execute("create or replace table touched.loads as select unnest(?::varchar[]) as load_id", [loads])
    columns = ", ".join(f"t.{column}" for column in history.STATE)
    con.execute(f"""
        create or replace view {history.STATES} as
        select {columns} from raw.fresh_states as t
        union all
        select {columns} from warehouse.build.states as t
        anti join raw.fresh_states as fresh on fresh.kind = t.kind and fresh.id = t.id
    """)
    refusals = ", ".join(relations.OBSERVATION)
    con.execute(f"""
        create or replace view raw.refusals as
        select {refusals} from warehouse.build.refusals
        union all
        select {refusals} from raw.observations where verdict in ('quarantined', 'failed')
    """)


def _parts(making: Making, changed: set[str], *, has_other_findings: bool) -> str:
    """Return a relation of the parts of tables that this changes: months in which rows are or were."""
    tables: dict[str, list[str]] = {}  # by the select of their months: many tables are about the same orders
    for name in sorted(changed):
        tables.setdefault(_months(making, name), []).append(name)
    if has_other_findings:
        tables.setdefault(_WHOLE, []).append(FINDINGS)
    making.con.execute("create or replace table touched.parts (table_name varchar, month varchar)")
    for months, names in tables.items():
        making.con.execute(f"insert into touched.parts select unnest({names}), month from ({months})")
    return "touched.parts"


def _months(making: Making, name: str) -> str:
    """Return a select of the months of a table that its fresh rows change."""
    staged = making.staged
    table, keys = staged.catalogue[name], staged.sets[name]
    partition = catalogue.partition_of(table)
    if partition == BUSINESS and table.scope == "day" and keys is not None:
        return months_of_days(keys)
    of_keys = "true"
    if table.scope == "order" and keys is not None:
        of_keys = f"{within(staged, keys, 'order_id', 'order_id')} and order_id in (select order_id from {keys})"
    if partition == BUSINESS:
        stored = f"select business_date from warehouse.{name} where {of_keys}"
        return months_of_days(f'({stored} union all select business_date from fresh."{name}")')
    if partition == CREATED:
        sides = ["warehouse.core.orders"] + ['fresh."core.orders"'] * ("core.orders" in staged.sets)
        month = f"select distinct {month_of('created_at')} as month"
        return " union ".join(f"{month} from {side} where {of_keys}" for side in sides)
    return _WHOLE


def _findings(making: Making) -> tuple[str, str, list[str]]:
    """Return the columns of findings, a select of the fresh ones, and by check the condition of those they replace."""
    columns = ", ".join(column.name for column in catalogue.table(FINDINGS).columns)
    conditions = []
    for name, keys in making.looked.items():
        scope = catalogue.check(name).scope
        of_keys = keys is not None and scope in ENTITIES_WITH_TABLES
        where = f"entity_id in (select {SCOPE_KEYS[scope]} from {keys})" if of_keys else "true"
        conditions.append(f"(check_name = '{name}' and {where})")
    return columns, f"select {columns} from ({catalogue.table(FINDINGS).sql})", conditions


def _replace_memory(con: duckdb.DuckDBPyConnection, new: Loads) -> None:
    con.execute("""
        delete from warehouse.build.states as t
        where exists (select 1 from raw.fresh_states as fresh where fresh.kind = t.kind and fresh.id = t.id)
    """)
    con.execute(f"insert into warehouse.build.states select {', '.join(history.STATE)} from raw.fresh_states")
    note_loads(con, new)


# When an unchanged document was last observed, listed or asked for.
OBSERVED = frozenset({"last_seen_at", "previous_last_seen_at", "last_checked_at", "last_listed_at"})
# Tables of audit that hold open decisions, and the rows and columns of them that count.
_OPEN = "breaks control_totals formula_populations inactive_periods pending_restatements schema_drift".split()
DECISIONS = {
    **dict.fromkeys((FINDINGS, *(f"audit.{name}" for name in _OPEN)), "select *"),
    "audit.quarantine": "select kind, entity_id, reason, if(entity_id is null, [load_id, seq::varchar], null)",
}
_ONLY = {"audit.quarantine": "where is_unresolved"}


def changed_checks(making: Making) -> set[str]:
    """Return the checks of which this build found other violations than are stored."""
    if not making.looked:
        return set()
    columns, fresh, replaced = _findings(making)
    stored = f"select {columns} from warehouse.{FINDINGS} where {' or '.join(replaced)}"
    rows = making.con.execute(f"""
        select distinct check_name from (
            (({stored}) except all ({fresh})) union all (({fresh}) except all ({stored}))
        )
    """).fetchall()
    return {str(name) for (name,) in rows}


def concerns_readers(making: Making, name: str) -> bool:
    """Tell whether a change to a table is more than another observation of the same."""
    table = making.staged.catalogue[name]
    if not table.is_released:
        return False  # what follows from it is in a table that is
    if not name.startswith(("core.", "mart.")):
        return name in DECISIONS and making.differs(name, DECISIONS[name], _ONLY.get(name, ""))
    differing = making.staged.differing[name]
    counted = [f'"{column.name}"' for column in table.columns if column.name not in OBSERVED]
    if len(differing) == len(table.columns) > len(counted):  # perhaps noted as a whole
        return making.differs(name, f"select {', '.join(counted)}")
    return not differing <= OBSERVED
