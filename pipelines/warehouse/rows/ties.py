"""Compare totals of related tables over all of their rows, before a build commits or replaces them.

Each tie is a select of its violations, of `sql/ties/` or `sql/comparisons.toml`, of the form of a check. It adds up
columns of the stored tables and reads neither affected keys nor views of a build, so that a build that forgot a day or
an order cannot forget it here too.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from pipelines.warehouse import catalogue
from pipelines.warehouse.rows.results import BuildBlocked
from pipelines.warehouse.rows.verdicts import found_in, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.warehouse.rows.results import CheckResult, Tally


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
