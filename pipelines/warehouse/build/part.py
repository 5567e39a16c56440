"""Build one bucket on some node: from files that every node sees into Parquet files that take their names at the end.

Running it twice, even at once, does no harm: each run writes in a folder of its own, and renames complete files.
"""

from __future__ import annotations

import secrets
import shutil
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.engines import EngineError
from pipelines.literals import literal
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.build.buckets import Bucket, Stage, make_bucket, stages
from pipelines.warehouse.history.versions import RUNS
from pipelines.warehouse.rows.making import FINDINGS, Making
from pipelines.warehouse.rows.profile import Profile, measured, profiled
from pipelines.warehouse.rows.results import BuildBlocked, CheckResult
from pipelines.warehouse.rows.session import code_fingerprint, in_memory
from pipelines.warehouse.rows.views import STATES

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

WRITING = "(files of buckets)"


@dataclass(frozen=True)
class Part:
    """A bucket of a stage, and where the files are that it depends on; `code` is the version that nodes must run.

    `draft` is the warehouse as earlier stages left it, `given` the driver's other facts; nobody writes to them
    meanwhile.
    """

    stage: int
    bucket: Bucket
    draft: Path
    given: Path
    documents: tuple[Path, ...]
    folder: Path
    memory_bytes: int
    code: dict[str, str]

    def file(self, table: str) -> Path:
        """Return where the bucket's rows of a table are, once they are complete."""
        return self.folder / f"stage-{self.stage}.bucket-{self.bucket.number:06}.{table}.parquet"


@dataclass(frozen=True)
class Made:
    """What a part found in its rows, and how many there are of each table: of none, when a blocking check found any."""

    checks: list[CheckResult]
    rows: dict[str, int]
    profile: Profile = field(default_factory=Profile)


def build_part(part: Part) -> Made:
    """Write the rows of a bucket, and its findings, as one Parquet file a table."""
    _require_files_and_code(part)
    stage = stages()[part.stage]
    own = part.folder / f"unfinished-{part.stage}-{part.bucket.number}-{secrets.token_hex(4)}"
    own.mkdir()
    try:
        with in_memory(own, f"{part.memory_bytes // 10**6}MB", threads=1) as con, profiled() as profile:
            _show_files(con, part, stage)
            making = Making(con, full=True)
            try:
                make_bucket(making, stage, part.bucket, part.documents)
            except BuildBlocked as error:
                return Made(error.checks, {}, profile=profile)
            rows = {table.name: _write(con, part, own, table.name) for table in stage.tables}
            rows[FINDINGS] = _write(con, part, own, FINDINGS, "raw.findings")
            return Made(making.tally.results(), rows, profile=profile)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _require_files_and_code(part: Part) -> None:
    here = socket.gethostname()
    if not (part.draft.exists() and part.given.exists()):
        raise EngineError(
            f"node {here} does not see {part.folder}: [data] dir must be a folder that all nodes have at the same path"
        )
    if other := [name for name, value in code_fingerprint().items() if value != part.code[name]]:
        raise EngineError(
            f"node {here} runs another version (other: {' and '.join(other)}): install the same on all nodes, "
            "and start their Ray again"
        )


def _show_files(con: duckdb.DuckDBPyConnection, part: Part, stage: Stage) -> None:
    """Make what a bucket reads look as it does in a build in one process; its tables are in memory, and empty."""
    con.execute(f"attach {literal(part.draft)} as draft (read_only)")
    con.execute(f"attach {literal(part.given)} as given (read_only)")
    con.execute("attach ':memory:' as warehouse")
    for schema in (*catalogue.SCHEMAS, "build"):
        con.execute(f"create schema warehouse.{schema}")
    for table in catalogue.tables():
        if table in stage.tables:
            columns = storage.spelled((column.name, column.type) for column in table.columns)
            con.execute(f"create table warehouse.{table.name} ({columns})")
        else:
            con.execute(f"create view warehouse.{table.name} as from draft.{table.name}")
    con.execute("create view warehouse.build.states as from draft.build.states")
    con.execute(f"create view {STATES} as from warehouse.build.states")
    con.execute(f"create view {RUNS} as from given.{RUNS}")
    shown = "select table_name from duckdb_tables() where database_name = 'given' and schema_name = 'raw'"
    for (name,) in con.execute(shown).fetchall():
        con.execute(f"create view raw.{name} as from given.raw.{name}")


def _write(con: duckdb.DuckDBPyConnection, part: Part, own: Path, table: str, relation: str = "") -> int:
    """Write a table's rows to its file, and return how many they are."""
    unfinished = own / "rows.parquet"
    relation = relation or f"warehouse.{table}"
    with measured(WRITING):
        row = con.execute(f"copy (from {relation}) to {literal(unfinished)} (format parquet)").fetchone()
    unfinished.replace(part.file(table))
    return int(row[0]) if row else 0
