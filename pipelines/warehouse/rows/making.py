"""Make fresh rows of tables, one select after the other, and hold them to their contracts, checks and ties.

A tie compares totals of related tables over all of their rows, before a build commits or replaces them. It is a select
of its violations, of `sql/ties/` or `sql/comparisons.toml`, of the form of a check. It adds up columns of the stored
tables and reads neither affected keys nor views of a build, so that a build that forgot a day or an order cannot forget
it here too.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from pipelines.warehouse import catalogue
from pipelines.warehouse.evidence import GATHERED
from pipelines.warehouse.rows.profile import measured
from pipelines.warehouse.rows.verdicts import (
    BuildBlocked,
    CheckResult,
    Tally,
    columns_as_declared,
    found_in,
    has_declared_columns,
    rows_as_declared,
    typed,
    violations,
)
from pipelines.warehouse.rows.views import Staged, made, of_fresh_keys, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.warehouse.catalogue.tables import Check, Table

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
        self.findings = 0  # rows of raw.findings
        columns = ", ".join(f"{column.name} {column.type}" for column in catalogue.table(FINDINGS).columns)
        con.execute(f"create table raw.findings ({columns})")

    def make(self, table: Table, keys: str | None) -> int:
        """Make the rows of a table for these keys, check them by themselves, and return how many there are."""
        with measured(table.name):
            show(self.staged, table, keys)
            for name in GATHERED.keys() & set(table.depends_on):
                gather, filled = GATHERED[name]
                gather(self.con)
                self.staged.sources |= filled
            relation = f'fresh."{table.name}"'
            insert = f"insert into warehouse.{table.name} {table.sql}"
            try:
                if self.staged.full:
                    self._declared(columns_as_declared(self.con, table))  # first: an insert would cast
                    # Into the file that nobody reads yet: rows that break a contract go with it.
                    rows = count_of(self.con.execute(insert))
                    relation = f"(from warehouse.{table.name} as t where {made(self.staged, table.name)})"
                else:
                    rows = count_of(self.con.execute(f"create or replace table {relation} as {typed(table)}"))
                    self._declared(has_declared_columns(self.con, table, f"from {relation}"))
                    self.staged.sets[table.name] = keys
            except (duckdb.ConversionException, duckdb.BinderException):
                self._judge_texts(table)
                raise
            for result in rows_as_declared(self.con, table, relation, rows):
                self.tally.add(result)
            return rows

    def look(self, check: Check, keys: str | None) -> None:
        """Look for violations of a check in the rows of these keys."""
        with measured(check.name):
            show(self.staged, check, keys)
            found = violations(check)
            if check.severity == "blocking":
                count = count_of(self.con.execute(f"select count(*) from {found}"))
            else:
                self.looked[check.name] = keys
                named = f"'{check.name}', '{check.table}', entity_id, location, residual, detail"
                count = count_of(self.con.execute(f"insert into raw.findings select {named} from {found}"))
                found = f"(from raw.findings where rowid >= {self.findings})"
                self.findings += count
            self.tally.add(found_in(self.con, check, found, count))

    def replace(self, name: str) -> None:
        """Put the fresh rows of a table in the place of those of the same keys."""
        self.con.execute(f"delete from warehouse.{name} where {of_fresh_keys(self.staged, name)}")
        self.con.execute(f'insert into warehouse.{name} from fresh."{name}"')

    def differs(self, name: str, select: str = "select *", where: str = "") -> bool:
        """Tell whether the fresh rows of a table differ from the stored rows of the same keys, in what is selected."""
        stored = f"({select} from (from warehouse.{name} where {of_fresh_keys(self.staged, name)}) {where})"
        return differ(self.con, stored, f'({select} from fresh."{name}" {where})')

    def results(self) -> list[CheckResult]:
        """Return a result for every check of the catalogue; warnings count all rows of audit.findings."""
        found = {each.name: each for each in self.tally.results()}
        return list(_complete(self.con, found))

    def _judge_texts(self, table: Table) -> None:
        """Raise BuildBlocked where rows of a table cannot be stored because of its contract's claims.

        A column of listed words takes no other word: rows are made once more, of texts, to be told which they are.
        """
        self._declared(has_declared_columns(self.con, table, table.sql))
        relation = f'fresh."{table.name}"'
        rows = count_of(self.con.execute(f"create or replace table {relation} as {table.sql}"))
        for result in rows_as_declared(self.con, table, relation, rows, typed=False):
            self.tally.add(result)
        self.tally.raise_if_blocked()

    def _declared(self, result: CheckResult) -> None:
        """Note what was found in a table's columns; go no further where they are wrong."""
        self.tally.add(result)
        if result.violations:
            self.tally.raise_if_blocked()


def count_of(done: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows a statement wrote or counted."""
    row = done.fetchone()
    return int(row[0]) if row else 0


def differ(con: duckdb.DuckDBPyConnection, left: str, right: str) -> bool:
    """Tell whether two relations of the same columns hold other rows; their order does not matter.

    Counts and a sum of hashes show most differences in one pass; only where both are equal are rows compared.
    """
    # all rows: DuckDB 2.0 reads no other result while one is not fetched to its end
    ((left_rows, left_sum), (right_rows, right_sum)) = con.execute(
        f"select count(*), sum(hash(t)) from {left} as t union all select count(*), sum(hash(t)) from {right} as t"
    ).fetchall()
    if (left_rows, left_sum) != (right_rows, right_sum):
        return True
    return bool(con.execute(f"select 1 from (from {left} except all from {right}) limit 1").fetchall())


def results_as_stored(con: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """Return the known state of every check where nothing was made."""
    return list(_complete(con, {}))


def _complete(con: duckdb.DuckDBPyConnection, found: dict[str, CheckResult]) -> Iterable[CheckResult]:
    counts = con.execute(f"select check_name, count(*) from warehouse.{FINDINGS} group by check_name").fetchall()
    standing = {str(name): int(count) for name, count in counts}
    for table in catalogue.tables():
        for check in table.checks:
            if check.severity == "warning":
                relation = f"(from warehouse.{FINDINGS} where check_name = '{check.name}')"
                yield found_in(con, check, relation, standing.get(check.name, 0))
            else:
                yield found.get(check.name) or CheckResult(check.name, check.table, check.severity, 0)


class TiesBroken(BuildBlocked):
    """The totals of an incremental build do not tie out: nothing was committed."""

    def named(self) -> str:
        """Name the first tie that does not hold, and where."""
        first = self.failed[0]
        place = first.sample[0].get("location") if first.sample else None
        return f"{first.name}: {place}" if place else first.name


def tie_out(con: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """Return what each tie finds in the attached `warehouse`, as the current transaction sees it."""
    results = []
    with _stored_tables(con):
        for tie in catalogue.ties():
            found = violations(tie)
            row = con.execute(f"select count(*) from {found}").fetchone()
            results.append(found_in(con, tie, found, int(row[0]) if row else 0))
    return results


def require_increment_ties(con: duckdb.DuckDBPyConnection, tally: Tally) -> None:
    """Add the findings of the ties to `tally`; raise TiesBroken where any does not hold."""
    broken = False
    for result in tie_out(con):
        tally.add(result)
        broken = broken or result.violations > 0
    if broken:
        raise TiesBroken(tally.results())


@contextmanager
def _stored_tables(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let a select's tables be those of the attached file, not the views of the build."""
    con.execute("use warehouse")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # a transaction that an error ended: session.attached() does it after the rollback
            con.execute("use memory")
