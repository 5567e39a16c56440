"""Build one bucket: the rows that a range of order ids has in the tables of one stage.

A stage is what can be made of orders before tables over all of them are needed again. A bucket depends on the documents
of its orders and on what earlier stages made, on nothing of other buckets: so the same function serves a build in this
process, bucket after bucket, and one whose buckets are spread over machines.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.history.versions import create_all_versions
from pipelines.warehouse.inputs.landed import create_documents
from pipelines.warehouse.rows.making import FINDINGS
from pipelines.warehouse.rows.profile import DOCUMENTS, measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.rows.making import Making

# DuckDB takes a fifth of each table for the bucket, and a fifth of that for every join: it holds lines for fewer than
# their orders, and builds its hash tables of the longer side. So a select names the longer side first.
_AS_WRITTEN = "join_order,build_side_probe_side"
LANDED_ORDERS = "kind = 'orders' and sha256 is not null"


@dataclass(frozen=True)
class Bucket:
    """The orders from `first` to `last`; `number` counts from 1."""

    number: int
    first: int
    last: int


@dataclass(frozen=True)
class Stage:
    """The tables of orders, and the checks of them, that can be made at once."""

    number: int
    tables: tuple[catalogue.Table, ...]
    checks: tuple[catalogue.Check, ...]

    @property
    def label(self) -> str:
        """The present step, for people who wait."""
        return "building orders, by bucket" if self.number == 0 else "reconciling orders, by bucket"


def stages() -> list[Stage]:
    """Return the stages in order."""
    number_of = catalogue.stages()
    later = {table.name for table in catalogue.tables() if FINDINGS in table.depends_on}
    tables = [table for table in catalogue.tables() if table.scope == "order" and table.name not in later]
    checks = [check for check in catalogue.checks() if check.scope == "order"]

    def ready(check: catalogue.Check) -> int:
        return max((number_of[name] for name in check.depends_on if name in number_of), default=0)

    return [
        Stage(
            number,
            tuple(table for table in tables if number_of[table.name] == number),
            tuple(check for check in checks if ready(check) == number),
        )
        for number in range(max(number_of.values()) + 1)
    ]


def buckets_of(con: duckdb.DuckDBPyConnection, size: int) -> list[Bucket]:
    """Return buckets of so many orders each, at least one."""
    starts = [
        row[0]
        for row in con.execute(
            f"""
            select id from (
                select id, row_number() over (order by id) as n from warehouse.build.states where {LANDED_ORDERS}
            ) as numbered
            where (n - 1) % {size} = 0
            order by id
            """
        ).fetchall()
    ] or [0]
    lasts = [*(start - 1 for start in starts[1:]), 2**63 - 1]
    return [Bucket(number, *ends) for number, ends in enumerate(zip(starts, lasts, strict=True), 1)]


def make_bucket(making: Making, stage: Stage, bucket: Bucket, paths: Sequence[Path]) -> None:
    """Make and check the rows of a bucket in the tables of a stage; `paths` are the files of order documents.

    Documents are needed in the first stage only: later ones read tables. Raise BuildBlocked when a blocking check found
    anything.
    """
    con = making.con
    mine = f"from warehouse.build.states where {LANDED_ORDERS} and id between {bucket.first} and {bucket.last}"
    making.staged.bucket = f"t.order_id between {bucket.first} and {bucket.last}"
    con.execute(f"create or replace table touched.bucket as select id as order_id {mine}")
    if stage.number == 0:
        con.execute(f"create or replace view touched.bucket_states as {mine}")
        with measured(DOCUMENTS):
            create_documents(con, "orders", paths, "touched.bucket_states")
            create_all_versions(con, paths)
    with joined_as_written(con):
        for table in stage.tables:
            making.make(table, "touched.bucket")
        for check in stage.checks:
            making.look(check, "touched.bucket")
    making.tally.raise_if_blocked()


@contextmanager
def joined_as_written(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Have DuckDB join in the order that a select names, left side read, right side held."""
    con.execute(f"set disabled_optimizers = '{_AS_WRITTEN}'")
    try:
        yield
    finally:
        con.execute("reset disabled_optimizers")
