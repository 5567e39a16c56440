"""Find the orders, menus, stores, customers and business days that an increment recomputes, table by table.

docs/ARCHITECTURE.md has the rule by scope. Too many is allowed and costs time; too few would be wrong. Raw documents
stand for the orders whose document (or its state) changed, raw checks for the orders that were asked for. Where an
order table reads rows of another scope (stores, products), those that changed in what it reads touch the orders that
hold the same value in a key column of the same name; where no name is shared, all orders. Where a source changed, what
reads it is recomputed whole.

A table's fresh rows are laid over the stored ones once. Where nothing differs, nothing that reads the table is affected
by it; where something does, only what reads one of the differing columns is. Tables by day read of orders, each other
columns: for them, one flag a column is kept for each row that differs.

Where a menu's price changes, an interval ends and another begins: two rows of the table differ, but what held before
that moment holds still. So rows are laid over each other, old against new, and only orders created in the stretches of
time in which the two differ are affected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.settings.kinds import ENTITIES
from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.history import STATES
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.rows import views
from pipelines.warehouse.rows.fresh_rows import differ

if TYPE_CHECKING:
    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.rows.views import Staged


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
        ((is_lone, *differs),) = staged.con.execute(
            f"select {flags} from ({_laid_over(staged, table, others)})"
        ).fetchall()
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
    return differing is None or not differing.isdisjoint(views.columns_read(staged, name, item))


def changed_orders(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the orders of which rows of a table of orders differ from before in what `item` reads."""
    table = staged.catalogue[name]
    if not table.key or staged.sets[name] is None:
        return f"select distinct order_id from {views.changed_rows(staged, name, item)}"
    relation, others = f'touched."differences of {name}"', _others(table)
    if name not in staged.compared:
        differs = " or ".join(f'"{each}"' for each in (_LONE, *others))
        staged.con.execute(
            f"create or replace table {relation} as from ({_laid_over(staged, table, others)}) where {differs}"
        )
        staged.compared.add(name)
    read = set(views.columns_read(staged, name, item))
    differing = [f'"{each}"' for each in (_LONE, *(each for each in others if each in read))]
    return f"select distinct order_id from {relation} where {' or '.join(differing)}"


def _others(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.name not in (*table.key, views.key_of(table))]


def _laid_over(staged: Staged, table: Table, columns: list[str]) -> str:
    """Return a select of the fresh and the stored rows of the same keys: which of these columns differ in a row."""
    scope_key = views.key_of(table)
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
    return f'(from fresh."{name}")', f"(from warehouse.{name} where {views.of_fresh_keys(staged, name)})"


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
    return f"select id as {entity} from {STATES} where kind = '{KINDS[item.scope]}' and sha256 is not null"


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
    entity = str(views.key_of(item))
    rows = views.changed_rows(staged, name, item)
    if not _any(staged, rows):
        return []
    if staged.catalogue[name].key == (entity,):
        return [f"select {entity} from {rows}"]
    if item.scope == "order" and staged.catalogue[name].span and CREATED in item.reads.names:
        orders = _tables_read(staged, item, "order")
        clocks = [each.name for each in orders if any(column.name == CREATED for column in each.columns)]
        if clocks:  # tables of orders that know when an order was created
            return orders_within(staged, item, name, clocks[0])
    selects = [
        f"select t.{entity} from ({views.projected_rows_sql(staged, own.name)}) as t "
        f"where t.{shared} in (select {shared} from {rows})"
        for own in _tables_read(staged, item, item.scope)
        for shared in staged.catalogue[name].key
        if shared in {column.name for column in own.columns}
    ]
    if selects:
        return selects
    kind = KINDS[item.scope]
    return [f"select id as {entity} from {STATES} where kind = '{kind}' and sha256 is not null"]


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
            selects += [
                f"select business_date from {side} where {where}" for day in dated for side in _sides(staged, day)
            ]
        else:
            everything = everything or _any(staged, views.changed_rows(staged, name, item))
    if CHECKS in item.depends_on:
        where = _is_among(staged, "touched.checked_orders")
        selects += [f"select business_date from {side} where {where}" for day in dated for side in _sides(staged, day)]
    if everything:
        selects += [f"select business_date from ({views.projected_rows_sql(staged, day)})" for day in dated]
    keys = _keep(staged, item, " union ".join(selects) or "select null::date as business_date limit 0")
    if CHECKS in item.depends_on or len(dated) < len(orders):
        of_days = " union ".join(
            f"""
            select t.order_id from ({views.projected_rows_sql(staged, day)}) as t
            where {views.days_between(staged.con, keys)}
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
        rows = views.projected_rows_sql(staged, keyed[0], f"t.customer_key in (from {keys})")
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
    return f"{views.between(staged.con, orders, 'order_id', 'order_id')} and order_id in (from {orders})"


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


CREATED = "created_at"


def orders_within(staged: Staged, item: Table | Check, name: str, clock: str) -> list[str]:
    """Return selects of the orders that changed rows of `name`, a table of intervals, may touch."""
    con = staged.con
    spans, orders = f'touched."spans of {name}"', f'touched."created in spans of {name}"'
    con.execute(f"create or replace table {spans} as {_changed_spans(staged, name, item)}")
    con.execute(f"""
        create or replace table {orders} as
        select t.order_id, t.{CREATED} from ({views.projected_rows_sql(staged, clock)}) as t
        where t.{CREATED} >= (select min(span_from) from {spans})
            and t.{CREATED} < (select max(span_until) from {spans})
    """)
    near = views.between(con, orders, "t.order_id", "order_id")
    selects = [
        f"""
        select t.order_id from ({views.projected_rows_sql(staged, own.name, near)}) as t
        inner join {orders} as o on t.order_id = o.order_id
        inner join (select distinct {shared}, span_from, span_until from {spans}) as s
            on t.{shared} = s.{shared} and o.{CREATED} >= s.span_from and o.{CREATED} < s.span_until
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
    said = ", ".join(f'"{each}"' for each in views.columns_read(staged, name, item) if each not in {since, until})
    key = ", ".join(f'"{each}"' for each in table.key if each not in {since, until})
    ends = f"coalesce({until}, cast('infinity' as timestamptz))" if until else "cast('infinity' as timestamptz)"
    events = " union all ".join(
        f"select {said}, {at} as at_time, {step} as step from {side}"
        for side, sign in zip(views.sides(staged, name, item), (1, -1), strict=True)
        for at, step in ((f"coalesce({since}, cast('-infinity' as timestamptz))", sign), (ends, -sign))
    )
    return filled("changed_spans", key=key, said=said, events=events)
