"""Bring the warehouse up to date with new loads: only what they affect is recomputed, in one commit.

Everything is made and checked beside the warehouse first; one transaction then deletes and inserts.

A reader is concerned when a row of core or mart differs, or an open decision does (checks, quarantine, restatements,
breaks, control totals, formula rules, schema drift, inactive stores). That an unchanged document was seen again is no
concern; nor is evidence about runs alone, such as another load in audit.loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipelines.warehouse import catalogue
from pipelines.warehouse.affected import has_keys, is_stale, note_differences, touched
from pipelines.warehouse.catalogue.tables import BUSINESS, CREATED, WHOLE, month_of, months_of_days, partition_of
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.history import (
    STATE,
    STATES,
    create_late,
    create_new_versions,
    create_states,
    find_new_runs,
    fold,
)
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.landed import by_loads, create_documents, create_notes, create_observations
from pipelines.warehouse.rows.fresh_rows import FINDINGS, Making, require_increment_ties
from pipelines.warehouse.rows.session import note_loads, remember
from pipelines.warehouse.rows.views import ENTITIES, between, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import duckdb

    from pipelines.landing.raw_folder import RawFiles
    from pipelines.warehouse.rows.fresh_rows import CheckResult
    from pipelines.warehouse.rows.session import Memory


# More changed orders than this, and more than half of all, are built faster and in less memory by a full build.
ALWAYS_AN_INCREMENT = 100_000
_KNOWN = "touched.known_states"
_WHOLE = f"select '{WHOLE}' as month"
_IDENTITY = ("versions", "sha256", "fetched_at", "fetch_load_id", "customer_key", relations.IS_DELETED)


class Applied(NamedTuple):
    """What a build found and changed: tables of which a row differs, and checks of which a finding does."""

    results: list[CheckResult]
    tables: frozenset[str]
    checks: frozenset[str]
    validated: Mapping[str, int]  # rows, by table


def find_changes(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], new: Mapping[str, list[str]]) -> bool:
    """Fold the new loads into states and record the affected ids; return whether an increment is the faster way."""
    loads = [load_id for each in new.values() for load_id in each]
    paths = [f.path for kind, files in raw.items() for f in files.observations if set(f.load_ids) & set(new[kind])]
    create_observations(con, "raw.observations", paths, loads)
    create_notes(con, {kind: by_loads(files.documents, new[kind])[0] for kind, files in raw.items()}, loads)
    _find_known(con)
    late = create_late(con, "raw.observations", _KNOWN, "touched.late")
    not_late = (
        "not exists (select 1 from touched.late as late where late.kind = t.kind and late.id is not distinct from t.id)"
    )
    create_states(con, "raw.fresh_states")
    create_states(con, "touched.nothing")
    later = f"(select * from raw.observations as t where {not_late})"
    fold(con, later, _KNOWN, "raw.fresh_states")
    if late:
        _fold_anew(con, raw)
    find_new_runs(con, later, _KNOWN, "touched.late_observations" if late else None)
    _note_touched(con, loads)
    counts = con.execute("""
        select
            (select count(*) from touched.changed_orders),
            (select count(*) from warehouse.build.states where kind = 'orders')
    """).fetchone()
    changed, known = counts or (0, 0)
    return bool(changed <= ALWAYS_AN_INCREMENT or changed * 2 <= known)


def apply_changes(
    con: duckdb.DuckDBPyConnection,
    raw: Mapping[str, RawFiles],
    new: Mapping[str, list[str]],
    memory: Memory,
    sources: set[str],
    progress: Callable[[str, int, int], None],
) -> Applied:
    """Make what find_changes noted, and what reads one of these sources; check it, and commit the rows that differ.

    Raise BuildBlocked when a blocking check found anything, TiesBroken when totals over all rows do not tie out: the
    warehouse is then as it was.
    """
    for kind, files in raw.items():
        fresh, older = by_loads(files.documents, new[kind])
        create_documents(con, kind, fresh, "raw.changed_states", older)
    create_new_versions(con, raw, new)
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


def _make_touched(making: Making, progress: Callable[[str, int, int], None]) -> None:
    staged = making.staged
    later = [table for table in catalogue.tables() if FINDINGS in table.depends_on]
    items: list[catalogue.Table | catalogue.Check] = [
        *(table for table in catalogue.tables() if table.name != FINDINGS and table not in later),
        *catalogue.looks(),
    ]
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


def _find_known(con: duckdb.DuckDBPyConnection) -> None:
    """Keep the stored states of the ids in raw.observations at hand: all states are looked through only once."""
    selects = [
        f"""
        select t.* from warehouse.build.states as t
        where t.kind = '{kind}' and {between(con, f"(from raw.observations where kind = '{kind}')", "t.id", "id")}
            and exists (select 1 from raw.observations as o where o.kind = t.kind and o.id = t.id)
        """
        for kind in relations.ENTITY
    ]
    con.execute(f"create or replace table {_KNOWN} as {' union all '.join(selects)}")


def _fold_anew(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles]) -> None:
    """Fold all observations of the ids in touched.late, of every load there is."""
    paths = [f.path for files in raw.values() for f in files.observations]
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    create_observations(con, "touched.late_observations", paths, loads, only="touched.late")
    create_states(con, "touched.late_states")
    fold(con, "touched.late_observations", "touched.nothing", "touched.late_states")
    con.execute("insert into raw.fresh_states from touched.late_states")


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
    columns = ", ".join(f"t.{column}" for column in STATE)
    con.execute(f"""
        create or replace view {STATES} as
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
    partition = partition_of(table)
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
        return " union ".join(
            f"select distinct {month_of('created_at')} as month from {side} where {of_keys}" for side in sides
        )
    return _WHOLE


def _findings(making: Making) -> tuple[str, str, list[str]]:
    """Return the columns of findings, a select of the fresh ones, and by check the condition of those they replace."""
    columns = ", ".join(column.name for column in catalogue.table(FINDINGS).columns)
    conditions = []
    for name, keys in making.looked.items():
        scope = catalogue.check(name).scope
        of_keys = keys is not None and scope in ENTITIES
        where = f"entity_id in (select {SCOPE_KEYS[scope]} from {keys})" if of_keys else "true"
        conditions.append(f"(check_name = '{name}' and {where})")
    return columns, f"select {columns} from ({catalogue.table(FINDINGS).sql})", conditions


def _replace_memory(con: duckdb.DuckDBPyConnection, new: Mapping[str, list[str]]) -> None:
    con.execute("""
        delete from warehouse.build.states as t
        where exists (select 1 from raw.fresh_states as fresh where fresh.kind = t.kind and fresh.id = t.id)
    """)
    con.execute(f"insert into warehouse.build.states select {', '.join(STATE)} from raw.fresh_states")
    note_loads(con, new)


# When an unchanged document was last observed, listed or asked for.
OBSERVED = frozenset({"last_seen_at", "previous_last_seen_at", "last_checked_at", "last_listed_at"})
# Tables of audit that hold open decisions, and the rows and columns of them that count.
DECISIONS = {
    FINDINGS: "select *",
    "audit.breaks": "select *",
    "audit.control_totals": "select *",
    "audit.formula_populations": "select *",
    "audit.inactive_periods": "select *",
    "audit.pending_restatements": "select *",
    "audit.quarantine": "select kind, entity_id, reason, if(entity_id is null, [load_id, seq::varchar], null)",
    "audit.schema_drift": "select *",
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
