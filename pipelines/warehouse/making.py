"""Make fresh rows of tables, one select after the other, and hold them to their contracts and checks.

Knows nothing of where rows go afterwards, or of which documents were read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.results import CheckResult, Tally
from pipelines.warehouse.verdicts import (
    create_violations,
    has_declared_columns,
    has_unique_key,
    keeps_its_contract,
    violations_of,
)
from pipelines.warehouse.views import ENTITIES, UNDATED, Staged, between, key_of, made, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from pipelines.warehouse.catalogue import Check, Table

FINDINGS = "audit.findings"


class Making:
    """Fresh rows, and what was found in them so far.

    A full build puts them straight into the warehouse file, an increment beside it, in schema `fresh`.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, *, full: bool) -> None:
        self.con = con
        self.staged = Staged(con, {table.name: table for table in catalogue.tables()}, full)
        self.tally = Tally()
        # warnings that were looked for, and the relation of the entities in which; None: everywhere
        self.looked: dict[str, str | None] = {}
        columns = ", ".join(f"{column.name} {column.type}" for column in catalogue.table(FINDINGS).columns)
        con.execute(f"create table raw.findings ({columns})")

    def make(self, table: Table, keys: str | None) -> None:
        """Make the rows of a table for these keys, and check them by themselves."""
        show(self.staged, table, keys)
        declared = has_declared_columns(self.con, table)
        self.tally.add(declared)
        if declared.violations:
            self.tally.raise_if_blocked()
        if self.staged.full:
            # Into the file that nobody reads yet: rows that break a contract go with it.
            self.con.execute(f"insert into warehouse.{table.name} {table.sql}")
            relation = f"(from warehouse.{table.name} as t where {made(self.staged, table.name)})"
        else:
            relation = f'fresh."{table.name}"'
            self.con.execute(f"create or replace table {relation} as {table.sql}")
            self.staged.sets[table.name] = keys
        self.tally.add(keeps_its_contract(self.con, table, relation))
        self.tally.add(has_unique_key(self.con, table, relation))

    def look(self, check: Check, keys: str | None) -> None:
        """Look for violations of a check in the rows of these keys."""
        show(self.staged, check, keys)
        self.tally.add(create_violations(self.con, check, "touched.violations"))
        if check.severity == "warning":
            self.looked[check.name] = keys
            self.con.execute(
                f"""
                insert into raw.findings
                select '{check.name}', '{check.table}', entity_id, place, residual, detail from touched.violations
                """
            )

    def replace(self, name: str) -> None:
        """Put the fresh rows of a table in the place of those of the same keys."""
        keys = self.staged.sets[name]
        if keys is None:
            self.con.execute(f"delete from warehouse.{name}")
        else:
            key = str(key_of(self.staged.catalogue[name]))
            bound = "true"
            if self.staged.catalogue[name].scope in ENTITIES:
                bound = between(self.con, keys, key, key)
            plain = f"{bound} and {key} in (select {key} from {keys} where {key} is not null)"
            null = f"({key} is null and exists (select 1 from {keys} where {key} is null))"
            self.con.execute(
                f"delete from warehouse.{name} where {plain} or {null}"
                if key in UNDATED
                else f"delete from warehouse.{name} where {plain}"
            )
        self.con.execute(f'insert into warehouse.{name} from fresh."{name}"')

    def results(self) -> list[CheckResult]:
        """Return a result for every check of the catalogue; warnings count all that now stands in audit.findings."""
        found = {each.name: each for each in self.tally.results()}
        return list(_complete(self.con, found))


def results_as_stored(con: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """Return what is known of every check where nothing was made."""
    return list(_complete(con, {}))


def _complete(con: duckdb.DuckDBPyConnection, found: dict[str, CheckResult]) -> Iterable[CheckResult]:
    for table in catalogue.tables():
        for check in table.checks:
            if check.severity == "warning":
                yield violations_of(con, check, f"(from warehouse.{FINDINGS} where check_name = '{check.name}')")
            else:
                yield found.get(check.name) or CheckResult(check.name, check.table, check.severity, 0)
