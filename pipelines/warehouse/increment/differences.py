"""Find what differs from before in a recomputed table: in which columns, and of which orders.

A table's fresh rows are laid over the stored ones once. Where nothing differs, nothing that reads the table is affected
by it; where something does, only what reads one of the differing columns is. Tables by day read of orders, each other
columns: for them, one flag a column is kept for each row that differs.

A reader is concerned when a row of core or mart differs, or an open decision does (checks, quarantine, restatements,
breaks, control totals, formula rules, schema drift, inactive stores). That an unchanged document was seen again is no
concern; nor is evidence about runs alone, such as another load in audit.loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.rows.fresh_rows import FINDINGS, differ
from pipelines.warehouse.rows.views import ENTITIES, changed_rows, columns_read, key_of, of_fresh_keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.rows.fresh_rows import Making
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
    return differing is None or not differing.isdisjoint(columns_read(staged, name, item))


def changed_orders(staged: Staged, name: str, item: Table | Check) -> str:
    """Return a select of the orders of which rows of a table of orders differ from before in what `item` reads."""
    table = staged.catalogue[name]
    if not table.key or staged.sets[name] is None:
        return f"select distinct order_id from {changed_rows(staged, name, item)}"
    relation, others = f'touched."differences of {name}"', _others(table)
    if name not in staged.compared:
        differs = " or ".join(f'"{each}"' for each in (_LONE, *others))
        staged.con.execute(
            f"create or replace table {relation} as from ({_laid_over(staged, table, others)}) where {differs}"
        )
        staged.compared.add(name)
    read = set(columns_read(staged, name, item))
    differing = [f'"{each}"' for each in (_LONE, *(each for each in others if each in read))]
    return f"select distinct order_id from {relation} where {' or '.join(differing)}"


def _others(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.name not in (*table.key, key_of(table))]


def _laid_over(staged: Staged, table: Table, columns: list[str]) -> str:
    """Return a select of the fresh and the stored rows of the same keys: which of these columns differ in a row."""
    scope_key = key_of(table)
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
    return f'(from fresh."{name}")', f"(from warehouse.{name} where {of_fresh_keys(staged, name)})"


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
    columns = ", ".join(column.name for column in catalogue.table(FINDINGS).columns)
    replaced = " or ".join(f"({findings_of(name, keys)})" for name, keys in making.looked.items())
    stored = f"(select {columns} from warehouse.{FINDINGS} where {replaced})"
    fresh = f"(select {columns} from ({catalogue.table(FINDINGS).sql}))"
    rows = making.con.execute(f"""
        select distinct check_name from (
            (from {stored} except all from {fresh}) union all (from {fresh} except all from {stored})
        )
    """).fetchall()
    return {str(name) for (name,) in rows}


def findings_of(check_name: str, keys: str | None) -> str:
    """Return the condition of the stored findings of a check that this build looked for again."""
    scope = catalogue.check(check_name).scope
    key = SCOPE_KEYS[scope] if scope in ENTITIES else None
    where = "true" if keys is None or key is None else f"entity_id in (select {key} from {keys})"
    return f"check_name = '{check_name}' and {where}"


def concerns_readers(making: Making, changed: Iterable[str]) -> bool:
    """Tell whether a change to one of these tables is more than another observation of the same."""
    return any(_concerns_readers(making, name) for name in changed)


def _concerns_readers(making: Making, name: str) -> bool:
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
