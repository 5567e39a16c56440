"""Compare the fresh rows of an increment with the stored ones they replace: what changed, and does it concern readers.

A reader is concerned when a row of core or mart differs, or an open decision does (checks, quarantine, restatements,
breaks, control totals, formula rules, schema drift, inactive stores). That an unchanged document was seen again is no
concern; nor is evidence about runs alone, such as another load in audit.loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.contracts import SCOPE_KEYS
from pipelines.warehouse.rows.making import FINDINGS
from pipelines.warehouse.rows.views import ENTITIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.warehouse.rows.making import Making

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
    rows = making.con.execute(
        f"""
        select distinct check_name from (
            (from {stored} except all from {fresh}) union all (from {fresh} except all from {stored})
        )
        """
    ).fetchall()
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
