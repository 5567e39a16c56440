"""Build the rows that a range of order ids, a bucket, has in the tables of one stage: here, or spread over machines.

A stage is what can be made of orders before tables over all of them are needed again. A bucket depends on the documents
of its orders and on what earlier stages made, on nothing of other buckets: so the same function serves a build in this
process, bucket after bucket, and one whose buckets are spread over machines.

A spread bucket is built from files that every node sees into Parquet files that take their names at the end. Running it
twice, even at once, does no harm: each run writes in a folder of its own. While buckets are made, nobody writes to the
draft: nodes read in it what earlier stages made. Then each bucket is counted, and its files are loaded in the order of
their ids.
"""

import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from pipelines.engines import EngineError, RayCluster
from pipelines.literals import literal, literals
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.history import RUNS, STATES, create_all_versions
from pipelines.warehouse.inputs.relations import create_documents
from pipelines.warehouse.rows import session
from pipelines.warehouse.rows.fresh_rows import FINDINGS, BuildBlocked, CheckResult, Making

# DuckDB takes a fifth of each table for the bucket, and a fifth of that for every join: it holds lines for fewer than
# their orders, and builds its hash tables of the longer side. So a select names the longer side first.
_AS_WRITTEN = "join_order,build_side_probe_side"
LANDED = "kind = 'orders' and sha256 is not null"


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


def stages() -> list[Stage]:
    """Return the stages in order."""
    number_of = catalogue.stages()
    later = {table.name for table in catalogue.tables() if FINDINGS in table.depends_on}
    tables = [table for table in catalogue.tables() if table.scope == "order" and table.name not in later]
    looks = [check for check in catalogue.looks() if check.scope == "order"]
    ready = {each: max((number_of[name] for name in each.depends_on if name in number_of), default=0) for each in looks}
    found = []
    for number in range(max(number_of.values()) + 1):
        made = (table for table in tables if number_of[table.name] == number)
        found.append(Stage(number, tuple(made), tuple(check for check in looks if ready[check] == number)))
    return found


def buckets_of(con: duckdb.DuckDBPyConnection, size: int) -> list[Bucket]:
    """Return buckets of so many orders each, at least one."""
    numbered = f"select id, row_number() over (order by id) as n from warehouse.build.states where {LANDED}"
    rows = con.execute(f"select id from ({numbered}) where (n - 1) % {size} = 0 order by id").fetchall()
    starts = [row[0] for row in rows] or [0]
    lasts = [*(start - 1 for start in starts[1:]), 2**63 - 1]
    return [Bucket(number, *ends) for number, ends in enumerate(zip(starts, lasts, strict=True), 1)]


def make_bucket(making: Making, stage: Stage, bucket: Bucket, paths: Sequence[Path]) -> None:
    """Make and check the rows of a bucket in the tables of a stage; `paths` are the files of order documents.

    Documents are needed in the first stage only: later ones read tables. Raise BuildBlocked where a check blocks.
    """
    making.staged.bucket = f"t.order_id between {bucket.first} and {bucket.last}"
    take_orders(making.con, f"id between {bucket.first} and {bucket.last}", None if stage.number else paths)
    with joined_as_written(making.con):
        for table in stage.tables:
            making.make(table, "touched.bucket")
        for check in stage.checks:
            making.look(check, "touched.bucket")
    making.tally.raise_if_blocked()


def take_orders(con: duckdb.DuckDBPyConnection, condition: str, paths: Sequence[Path] | None) -> None:
    """Make touched.bucket of the landed orders under a condition; type their documents, if files of such are given."""
    mine = f"from warehouse.build.states where {LANDED} and {condition}"
    con.execute(f"create or replace table touched.bucket as select id as order_id {mine}")
    if paths is not None:
        con.execute(f"create or replace view touched.bucket_states as {mine}")
        with session.measure_cost(session.DOCUMENTS):
            create_documents(con, "orders", paths, "touched.bucket_states")
            create_all_versions(con, paths)


@contextmanager
def joined_as_written(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Have DuckDB join in the order that a select names, left side read, right side held."""
    con.execute(f"set disabled_optimizers = '{_AS_WRITTEN}'")
    try:
        yield
    finally:
        con.execute("reset disabled_optimizers")


WRITING = "(files of buckets)"


@dataclass(frozen=True)
class BucketTask:
    """A bucket of a stage, and where the files are that it depends on; `code` is the version that nodes must run.

    `draft` is the warehouse as earlier stages left it, `given` the driver's other facts: nobody writes to them.
    """

    stage: int
    bucket: Bucket
    draft: Path
    given: Path
    documents: tuple[Path, ...]
    folder: Path
    memory_bytes: int
    code: Mapping[str, str]

    def file(self, table: str) -> Path:
        """Return where the bucket's rows of a table are, once they are complete."""
        return self.folder / f"stage-{self.stage}.bucket-{self.bucket.number:06}.{table}.parquet"


@dataclass(frozen=True)
class BucketResult:
    """What a part found in its rows, and how many there are of each table: of none, when a blocking check found any."""

    checks: list[CheckResult]
    rows: dict[str, int]
    validated: dict[str, int] = field(default_factory=dict)
    profile: session.Profile = field(default_factory=dict)


def build_part(part: BucketTask) -> BucketResult:
    """Write the rows of a bucket, and its findings, as one Parquet file a table."""
    here = socket.gethostname()
    if not (part.draft.exists() and part.given.exists()):
        advice = "[data] dir must be a folder that all nodes have at the same path"
        raise EngineError(f"node {here} does not see {part.folder}: {advice}")
    if other := [name for name, value in session.code_fingerprint().items() if value != part.code[name]]:
        advice = "install the same on all nodes, and start their Ray again"
        raise EngineError(f"node {here} runs another version (other: {' and '.join(other)}): {advice}")
    stage = stages()[part.stage]
    own = part.folder / f"unfinished-{part.stage}-{part.bucket.number}-{secrets.token_hex(4)}"
    own.mkdir()
    try:
        with session.in_memory(own, f"{part.memory_bytes // 10**6}MB", threads=1) as con, session.profiled() as profile:
            _show_files(con, part, stage)
            making = Making(con, full=True)
            try:
                make_bucket(making, stage, part.bucket, part.documents)
            except BuildBlocked as error:
                return BucketResult(error.checks, {}, making.tally.validated, profile)
            rows = {table.name: _write(con, part, own, table.name) for table in stage.tables}
            rows[FINDINGS] = _write(con, part, own, FINDINGS, "raw.findings")
            return BucketResult(making.tally.results(), rows, making.tally.validated, profile)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _show_files(con: duckdb.DuckDBPyConnection, part: BucketTask, stage: Stage) -> None:
    """Make what a bucket reads look as it does in a build in one process; its tables are in memory, and empty."""
    for file, name in ((part.draft, "draft"), (part.given, "given")):
        con.execute(f"attach {literal(file)} as {name} (read_only)")
    con.execute("attach ':memory:' as warehouse")
    for schema in (*catalogue.SCHEMAS, "build"):
        con.execute(f"create schema warehouse.{schema}")
    for table in catalogue.tables():
        if table in stage.tables:
            columns = storage.spelled((column.name, column.type) for column in table.columns)
            con.execute(f"create table warehouse.{table.name} ({columns})")
        else:
            con.execute(f"create view warehouse.{table.name} as from draft.{table.name}")
    views = {"warehouse.build.states": "draft.build.states", STATES: "draft.build.states", RUNS: f"given.{RUNS}"}
    con.execute("; ".join(f"create view {name} as from {relation}" for name, relation in views.items()))
    shown = "select table_name from duckdb_tables() where database_name = 'given' and schema_name = 'raw'"
    for (name,) in con.execute(shown).fetchall():
        con.execute(f"create view raw.{name} as from given.raw.{name}")


def _write(con: duckdb.DuckDBPyConnection, part: BucketTask, own: Path, table: str, relation: str = "") -> int:
    """Write a table's rows to its file, and return how many they are."""
    unfinished = own / "rows.parquet"
    relation = relation or f"warehouse.{table}"
    with session.measure_cost(WRITING):
        rows = storage.count_of(con.execute(f"copy (from {relation}) to {literal(unfinished)} (format parquet)"))
    unfinished.replace(part.file(table))
    return rows


PARTS = "parts"  # the folder beside the warehouse
LOADING = "(rows of buckets)"
OF_STATES = {"raw.order_checks"}  # a view of the draft


@dataclass(frozen=True)
class Spread:
    """An engine at work on one build, the draft of it, and the folder that parts are written to."""

    engine: RayCluster
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
        con, code = making.con, session.code_fingerprint()
        given = self.folder / "given.duckdb"
        if not given.exists():
            _write_given(con, given)
        spans = spans_of_files(con, paths) if stage.number == 0 else []
        parts = []
        for bucket in split:
            files = tuple(path for path, low, high in spans if low <= bucket.last and high >= bucket.first)
            where = bucket, self.draft, given, files, self.folder
            parts.append(BucketTask(stage.number, *where, self.engine.memory_bytes, code))
        made: dict[int, BucketResult] = {}
        show(0, len(parts))
        with session.closed_draft(con, self.draft):
            for place, each in self.engine.map(build_part, parts):
                made[place] = each
                show(len(made), len(parts))
        if lost := [part.bucket.number for place, part in enumerate(parts) if place not in made]:
            raise EngineError(f"{len(lost)} of {len(parts)} buckets were not made, the first is {lost[0]}: build again")
        for place in range(len(parts)):
            for check in made[place].checks:
                making.tally.add(check)
            for name, rows in made[place].validated.items():
                making.tally.validate(name, rows)
            session.add_costs(made[place].profile)
        making.tally.raise_if_blocked()
        for place, part in enumerate(parts):
            with session.measure_cost(LOADING):
                _load(making, stage, part, made[place])
            if part is not parts[-1]:
                session.reopen_draft(con, self.draft)


@contextmanager
def spread(engine: RayCluster, draft: Path) -> Iterator[Spread]:
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
    rows = con.execute(f"""
        select file_name, min(cast(stats_min_value as bigint)), max(cast(stats_max_value as bigint)),
            bool_and(stats_min_value is not null and stats_max_value is not null)
        from parquet_metadata([{literals(paths)}]) where path_in_schema = 'id' group by file_name
    """).fetchall()
    spans = {name: (low, high) for name, low, high, is_known in rows if is_known}
    everything = -(2**63), 2**63 - 1  # of a file that does not say
    return [(path, *spans.get(str(path), everything)) for path in paths]


def _write_given(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write what order tables read besides documents and tables, with its types: settings, ledger entries, runs."""
    reads = [table.reads for stage in stages() for table in stage.tables]
    reads += [check.reads for stage in stages() for check in stage.checks]
    wanted = {name for each in reads for name in each.tables if name.startswith("raw.")}
    held = "select 'raw.' || {0}_name from duckdb_{0}s() where database_name = 'memory' and schema_name = 'raw'"
    there = {name for kind in ("table", "view") for (name,) in con.execute(held.format(kind)).fetchall()}
    con.execute(f"attach {literal(file)} as given {storage.DRAFT}")
    con.execute("create schema given.raw; create schema given.touched")
    for name in sorted(wanted & there - OF_STATES):
        con.execute(f"create table given.{name} as from {name}")
    con.execute(f"create table given.{RUNS} as from {RUNS} where kind = 'orders'")
    con.execute("checkpoint given; detach given")


def _load(making: Making, stage: Stage, part: BucketTask, made: BucketResult) -> None:
    """Add a bucket's files to the draft, whose columns have the contract's types, and remove them."""
    targets = {table.name: f"warehouse.{table.name}" for table in stage.tables} | {FINDINGS: "raw.findings"}
    for table, target in targets.items():
        file = part.file(table)
        rows = making.con.execute(f"insert into {target} by name from read_parquet({literal(file)})")
        if storage.count_of(rows) != made.rows[table]:
            raise EngineError(f"{file} does not hold the {made.rows[table]} rows that were written: build again")
        file.unlink()
    making.findings += made.rows[FINDINGS]
