"""Open DuckDB for a build, lay out a warehouse file, and measure what each table costs.

The build's memory is in schema `build`, which no release holds: loads that were applied, a state per (kind, id),
refused verdicts, and the fingerprint of everything that shapes the tables.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import resource
import secrets
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.landing.charges import read_sql
from pipelines.landing.data_folder import erasures_state
from pipelines.literals import literal
from pipelines.settings import settings_hash
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.catalogue import SQL, CatalogueError
from pipelines.warehouse.evidence.candidates import create_candidates
from pipelines.warehouse.history import create_states
from pipelines.warehouse.inputs import relations, zones
from pipelines.warehouse.inputs.relations import create
from pipelines.warehouse.storage import memory_limit, not_opened, spill_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pipelines.settings import Settings
    from pipelines.warehouse.catalogue import Table

SHAPING = ("settings", "landing", "inbox", "ledger", "warehouse")  # packages whose code makes rows
_SMALL = 64 * 2**20  # bytes of a warehouse: ten thousand orders or so
READ_ONLY = "(read_only)"
LAYOUT = 4  # of schema `build`; another number means a rebuild


@contextmanager
def session(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an in-memory database that spills below data/, in UTC, with the schemas of a build and what settings say."""
    with plain_session(settings) as con:
        _create_settings(con, settings)
        _create_formula_settings(con, settings)
        create_candidates(con)
        con.from_arrow(zones.zone_offsets()).create("raw.zone_offsets")
        yield con


@contextmanager
def plain_session(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the database of a session for work that makes no rows: without settings, candidates and time zones."""
    with (
        spill_folder(settings.data_dir) as spill,
        in_memory(spill, memory_limit(settings), settings.warehouse.threads) as con,
    ):
        yield con


@contextmanager
def in_memory(spill: Path, memory: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an in-memory database with the empty schemas and the functions of a build; 0 threads are all cores."""
    config: dict[str, Any] = storage.SESSION | {
        "memory_limit": memory,
        "temp_directory": str(spill),
        "autoinstall_known_extensions": False,
    }
    if threads:
        config["threads"] = threads
    with duckdb.connect(":memory:", config=config) as con:
        con.execute("set timezone = 'UTC'")
        for schema in ("raw", "fresh", "touched", *catalogue.SCHEMAS):
            con.execute(f"create schema {schema}")
        create_functions(con)
        yield con


def use_few_threads(con: duckdb.DuckDBPyConnection, settings: Settings, file: Path) -> None:
    """Take one thread for work on a small file: to share out so little costs more CPU than it saves time."""
    if not settings.warehouse.threads and file.stat().st_size < _SMALL:
        con.execute("set threads = 1")


def memory_bytes(con: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes DuckDB may use: it says so in words, such as 810.6 MiB."""
    row = con.execute("select current_setting('memory_limit')").fetchone()
    number, unit = str(row and row[0]).split()
    return int(Decimal(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))


@contextmanager
def attached(con: duckdb.DuckDBPyConnection, file: Path, options: str = "") -> Iterator[None]:
    """Attach a file as `warehouse`; on leaving, write all of it to the file itself and detach it.

    With the options READ_ONLY nothing is written: the file may be copied meanwhile. Raise NotOpenedError if somebody
    else uses it, or may alone.
    """
    try:
        con.execute(f"attach {literal(file)} as warehouse {options}")
    except duckdb.Error as error:
        raise not_opened(error, file) or error from None
    try:
        yield
    except BaseException:
        con.execute("use memory")  # the default database cannot be detached
        con.execute("detach database if exists warehouse")
        raise
    if options != READ_ONLY:
        con.execute("checkpoint warehouse")
    con.execute("detach warehouse")


def attached_draft(con: duckdb.DuckDBPyConnection, file: Path) -> AbstractContextManager[None]:
    """Attach a new file as `warehouse` that nobody needs before all of it is written: it keeps no log."""
    return attached(con, file, storage.DRAFT)


def reopen_draft(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write what an attached draft holds so far to its file, and free its memory.

    DuckDB keeps what it has read or written of each row group until a file is detached, and looks through all of it
    whenever it writes: after eight buckets of a million orders that is 200 MB.
    """
    with closed_draft(con, file):
        pass


@contextmanager
def closed_draft(con: duckdb.DuckDBPyConnection, file: Path) -> Iterator[None]:
    """Write all of an attached draft to its file, detach it so that others may read it, and attach it again."""
    con.execute("checkpoint warehouse")
    con.execute("detach warehouse")
    yield
    con.execute(f"attach {literal(file)} as warehouse {storage.DRAFT}")


def lay_out(con: duckdb.DuckDBPyConnection, tables: Iterable[Table], *, comments: bool = True) -> None:
    """Create tables of the catalogue in `warehouse`, with their comments, and schema `build`."""
    con.execute("begin")  # one write to disk instead of hundreds
    for schema in (*catalogue.SCHEMAS, "build"):
        con.execute(f"create schema warehouse.{schema}")
    for table in tables:
        columns = storage.spelled((column.name, column.type) for column in table.columns)
        con.execute(f"create table warehouse.{table.name} ({columns})")
        if comments:
            meanings = ((column.name, column.description) for column in table.columns)
            storage.comment(con, f"warehouse.{table.name}", table.description, meanings)
    create_states(con, "warehouse.build.states")
    refusals = ", ".join(f"{column} {kind}" for column, kind in relations.OBSERVATION.items())
    con.execute(f"create table warehouse.build.refusals ({refusals})")
    con.execute("create table warehouse.build.loads (load_id varchar, kind varchar)")
    con.execute("create table warehouse.build.months (table_name varchar, month varchar, changed_in varchar)")
    con.execute(
        "create table warehouse.build.memory "
        "(layout integer, fingerprint varchar, sources varchar, commit_id varchar, shown_in varchar)"
    )
    con.execute("commit")


@dataclass(frozen=True)
class Memory:
    """The inputs of the tables besides raw: the fingerprint, and the state of each source."""

    fingerprint: dict[str, str]
    sources: dict[str, str]

    def changed_sources(self, now: Memory) -> set[str]:
        """Return the sources that have another state now."""
        return {name for name in now.sources if self.sources.get(name) != now.sources[name]}


def remember(con: duckdb.DuckDBPyConnection, memory: Memory, parts: str, *, is_shown: bool) -> None:
    """Write the inputs of the tables, and which parts of them (a relation of table_name and month) this changed.

    `is_shown`: the changes concern readers, so that a release without them shows something else.
    """
    commit = secrets.token_hex(8)
    before = con.execute("select shown_in from warehouse.build.memory").fetchone()
    shown_in = commit if is_shown or before is None else before[0]
    fingerprint, sources = (json.dumps(each, sort_keys=True) for each in (memory.fingerprint, memory.sources))
    con.execute("delete from warehouse.build.memory")
    con.execute(
        "insert into warehouse.build.memory values (?, ?, ?, ?, ?)", [LAYOUT, fingerprint, sources, commit, shown_in]
    )
    con.execute(f"""
        delete from warehouse.build.months as t
        where exists (select 1 from {parts} as p where p.table_name = t.table_name and p.month = t.month)
    """)
    con.execute(f"insert into warehouse.build.months select table_name, month, '{commit}' from {parts}")


def remembered(con: duckdb.DuckDBPyConnection) -> Memory | None:
    """Return the inputs of the attached warehouse, None where another version of the code laid it out."""
    try:
        row = con.execute("select layout, fingerprint, sources from warehouse.build.memory").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException):
        return None
    return Memory(json.loads(row[1]), json.loads(row[2])) if row and row[0] == LAYOUT else None


def note_loads(con: duckdb.DuckDBPyConnection, loads: Mapping[str, Sequence[str]]) -> None:
    """Add these loads by kind, and the refused verdicts in raw.observations, to what the attached warehouse knows."""
    columns = ", ".join(relations.OBSERVATION)
    refused = f"select {columns} from raw.observations where verdict in ('quarantined', 'failed')"
    con.execute(f"insert into warehouse.build.refusals {refused}")
    for kind, ids in loads.items():
        con.execute("insert into warehouse.build.loads select unnest(?::varchar[]), ?", [ids, kind])


def applied_loads(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the loads that the attached warehouse was made of."""
    return {str(row[0]) for row in con.execute("select load_id from warehouse.build.loads").fetchall()}


def fingerprint_of(settings: Settings) -> dict[str, str]:
    """Return a hash per input of the tables besides landed documents."""
    return {
        **code_fingerprint(),
        "the timezones": zones.version(),
        "the settings": settings_hash(settings, "business_day", "sales", "menus", "privacy", "formula", "finance"),
        "the erasures": erasures_state(settings.data_dir),
    }


@functools.cache
def code_fingerprint() -> Mapping[str, str]:
    """Return a hash per thing that makes rows, whatever the settings: the same on all machines of a build.

    All code that the rows of a build come through is hashed: a rebuild too many is cheap, one too few is wrong. A
    process reads the files once.
    """
    packages = Path(__file__).parents[2]
    code = sorted(path for name in SHAPING for path in (packages / name).rglob("*.py"))
    sql = sorted(catalogue.SQL.rglob("*.*"))
    return {"sql/": _hash_files(sql), "the code that makes rows": _hash_files(code), "DuckDB": duckdb.__version__}


def _create_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    day, sales, privacy, formula = settings.business_day, settings.sales, settings.privacy, settings.formula
    codes = settings.finance.currency_codes
    row = (
        *(day.time_field, day.timezone, day.day_start, *day.possible_times),
        *(day.zone_changes, day.daypart_of_hour),
        *(list(sales.counted_statuses), list(sales.excluded_statuses), settings.menus.product_id_scope),
        *(list(privacy.plaintext_fields), list(privacy.known_fields), privacy.customer_key),
        *(formula.total_rule, formula.subtotal_rule),
        *(formula.min_distinguishing_orders, formula.max_violation_rate),
        *(settings.finance.currency, {"key": [*codes], "value": [*codes.values()]}, settings.finance.duplicate_minutes),
    )
    create(con, "raw.settings")
    con.execute(f"insert into raw.settings values ({', '.join('?' * len(row))})", row)


def rules_of_settings(settings: Settings) -> list[tuple[Any, ...]]:
    """Return the rules that settings name, by setting_no from 1: target, rule and scope."""
    formula = settings.formula
    plain = (("subtotal", formula.subtotal_rule), ("total", formula.total_rule))
    rules: list[tuple[Any, ...]] = [(target, rule, *[None] * 6, []) for target, rule in plain if rule]
    return rules + [(each.rule_target, each.rule, *each.scope) for each in formula.rule]


def _create_formula_settings(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Fill the relations of the rules and components that settings name; plain rules come first."""
    for name in ("raw.formula_settings", "raw.formula_components"):
        create(con, name)
    for number, row in enumerate(rules_of_settings(settings), 1):
        con.execute("insert into raw.formula_settings values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [number, *row])
    for number, each in enumerate(settings.formula.component, 1):
        con.execute(
            f"insert into raw.formula_components values ({', '.join('?' * 15)})",
            [
                *(number, each.name),
                *(value or None for value in (each.constant, each.share, each.base, each.price_factor, each.step)),
                *(each.round or None, *each.scope),
            ],
        )


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.parent.name}/{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def create_functions(con: duckdb.DuckDBPyConnection, kind: str = "macro") -> None:
    """Create every function in the current database, for all SQL of a build; raise CatalogueError for a bad header.

    `kind` is `temp macro` for a database that is open to readers alone.
    """
    macros = []
    for path in sorted((SQL / "functions").glob("*.sql")):
        expression = read_sql(path)
        head = re.match(rf"-- ({path.stem}\([\w, ]*\)): ", expression)
        if not head:
            raise CatalogueError(f"functions/{path.name} must start with `-- {path.stem}(…): ` and its meaning")
        macros.append(f"create {kind} {head[1]} as {expression}")
    con.execute("\n;\n".join(macros))


# Steps that make no table: observations put in order, documents given types.
OBSERVATIONS, DOCUMENTS = "(observations)", "(documents)"
_RESET_PEAK = "5"  # written to clear_refs: proc_pid_clear_refs(5)
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class TableCost:
    """What one table or check took in all its parts; `peak` is the most memory of the process meanwhile, in bytes."""

    clock_ns: int = 0
    cpu_ns: int = 0
    peak: int = 0


Profile = dict[str, TableCost]  # by the name of a table or check
_CURRENT: ContextVar[Profile | None] = ContextVar("profile", default=None)


@contextmanager
def profiled() -> Iterator[Profile]:
    """Measure all that is built in this block."""
    profile: Profile = {}
    token = _CURRENT.set(profile)
    try:
        yield profile
    finally:
        _CURRENT.reset(token)


@contextmanager
def measured(name: str) -> Iterator[None]:
    """Add what this block costs to `name`, where a build is profiled."""
    if _CURRENT.get() is None:
        yield
        return
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    clock, cpu = time.perf_counter_ns(), time.process_time_ns()
    yield
    add_costs({name: TableCost(time.perf_counter_ns() - clock, time.process_time_ns() - cpu, _peak())})


def add_costs(other: Profile) -> None:
    """Add what was measured, perhaps in another process, where a build is profiled."""
    profile = _CURRENT.get()
    if profile is None:
        return
    for name, cost in other.items():
        known = profile.setdefault(name, TableCost())
        known.clock_ns += cost.clock_ns
        known.cpu_ns += cost.cpu_ns
        known.peak = max(known.peak, cost.peak)


def _peak() -> int:
    """Return the largest memory of this process since it was last reset; of all its life where Linux does not tell."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
