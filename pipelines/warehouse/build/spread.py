"""Have the buckets of a full build made elsewhere, and put their rows into the draft: the one writer of it.

While buckets are made, nobody writes to the draft: nodes read in it what earlier stages made. Then each bucket is
counted, and its files are loaded in the order of their ids.
"""

from __future__ import annotations

import secrets
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.engines import EngineError
from pipelines.literals import literal, literals
from pipelines.warehouse import storage
from pipelines.warehouse.build.buckets import stages
from pipelines.warehouse.build.part import Part, build_part
from pipelines.warehouse.history.versions import RUNS
from pipelines.warehouse.rows.making import FINDINGS
from pipelines.warehouse.rows.profile import add_costs, measured
from pipelines.warehouse.rows.session import close_draft, code_fingerprint, open_draft, reopen_draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from pipelines.engines import Engine
    from pipelines.warehouse.build.buckets import Bucket, Stage
    from pipelines.warehouse.build.part import Made
    from pipelines.warehouse.rows.making import Making

PARTS = "parts"  # the folder beside the warehouse
LOADING = "(rows of buckets)"
OF_STATES = {"raw.order_checks"}  # a view of the draft


@dataclass(frozen=True)
class Spread:
    """An engine at work on one build, the draft of it, and the folder that parts are written to."""

    engine: Engine
    draft: Path
    folder: Path

    def make(
        self,
        making: Making,
        stage: Stage,
        split: Sequence[Bucket],
        paths: Sequence[Path],
        show: Callable[[int, int], None],
    ) -> None:
        """Make a stage on the engine. Raise BuildBlocked when a blocking check found anything in any bucket."""
        con, code = making.con, code_fingerprint()
        given = self.folder / "given.duckdb"
        if not given.exists():
            _write_given(con, given)
        spans = spans_of_files(con, paths) if stage.number == 0 else []
        parts = [
            Part(
                stage.number,
                bucket,
                self.draft,
                given,
                tuple(path for path, low, high in spans if low <= bucket.last and high >= bucket.first),
                self.folder,
                self.engine.memory_bytes,
                code,
            )
            for bucket in split
        ]
        made: dict[int, Made] = {}
        show(0, len(parts))
        close_draft(con)
        for place, each in self.engine.map(build_part, parts):
            made[place] = each
            show(len(made), len(parts))
        open_draft(con, self.draft)
        if lost := [part.bucket.number for place, part in enumerate(parts) if place not in made]:
            raise EngineError(f"{len(lost)} of {len(parts)} buckets were not made, the first is {lost[0]}: build again")
        for place in range(len(parts)):
            for check in made[place].checks:
                making.tally.add(check)
            add_costs(made[place].profile)
        making.tally.raise_if_blocked()
        for place, part in enumerate(parts):
            with measured(LOADING):
                _load(making, stage, part, made[place])
            if part is not parts[-1]:
                reopen_draft(con, self.draft)


@contextmanager
def spread(engine: Engine, draft: Path) -> Iterator[Spread]:
    """Connect an engine for one build, with an empty folder for its parts; whatever a killed build left goes."""
    everything = draft.parent / PARTS
    shutil.rmtree(everything, ignore_errors=True)
    folder = everything / secrets.token_hex(4)  # a part of a killed build that still runs writes into its own
    folder.mkdir(parents=True)
    try:
        with engine:
            yield Spread(engine, draft, folder)
    finally:
        shutil.rmtree(everything, ignore_errors=True)


def spans_of_files(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> list[tuple[Path, int, int]]:
    """Return the files of documents with the least and the greatest id in each, as its footer has them."""
    if not paths:
        return []
    names = literals(paths)
    rows = con.execute(
        f"""
        select
            file_name, min(cast(stats_min_value as bigint)), max(cast(stats_max_value as bigint)),
            bool_and(stats_min_value is not null and stats_max_value is not null)
        from parquet_metadata([{names}])
        where path_in_schema = 'id'
        group by file_name
        """
    ).fetchall()
    spans = {name: (low, high) for name, low, high, is_known in rows if is_known}
    everything = -(2**63), 2**63 - 1  # of a file that does not say
    return [(path, *spans.get(str(path), everything)) for path in paths]


def _write_given(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write what order tables read besides documents and tables, with its types: settings, ledger entries, runs."""
    wanted = {
        name
        for stage in stages()
        for reads in (*(table.depends_on for table in stage.tables), *(check.depends_on for check in stage.checks))
        for name in reads
        if name.startswith("raw.")
    }
    held = "select 'raw.' || {0}_name from duckdb_{0}s() where database_name = 'memory' and schema_name = 'raw'"
    there = {name for kind in ("table", "view") for (name,) in con.execute(held.format(kind)).fetchall()}
    con.execute(f"attach {literal(file)} as given {storage.DRAFT}")
    con.execute("create schema given.raw")
    con.execute("create schema given.touched")
    for name in sorted(wanted & there - OF_STATES):
        con.execute(f"create table given.{name} as from {name}")
    con.execute(f"create table given.{RUNS} as from {RUNS} where kind = 'orders'")
    con.execute("checkpoint given")
    con.execute("detach given")


def _load(making: Making, stage: Stage, part: Part, made: Made) -> None:
    """Add a bucket's files to the draft, whose columns have the contract's types, and remove them."""
    targets = {table.name: f"warehouse.{table.name}" for table in stage.tables} | {FINDINGS: "raw.findings"}
    for table, target in targets.items():
        file = part.file(table)
        row = making.con.execute(f"insert into {target} by name from read_parquet({literal(file)})").fetchone()
        if (row and row[0]) != made.rows[table]:
            raise EngineError(f"{file} does not hold the {made.rows[table]} rows that were written: build again")
        file.unlink()
    making.findings += made.rows[FINDINGS]
