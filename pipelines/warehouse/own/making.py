"""Make the tables of [models] dir for a release that nobody reads yet; what cannot be made keeps its last good rows.

They are kept in data/warehouse/own_tables.duckdb, each with a comment that says what it was made of: one whose text and
inputs are the same is not made again; any other is made whole.

They are tried without a night on the current release, or on the rows that `<name>.test.txt` gives beside a
model: blocks `given mart.orders` and `expected`, each of rows in columns set apart by bars, `null` for null.
"""

import contextlib
import datetime as dt
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec

from pipelines.clock import utc_now
from pipelines.literals import literal
from pipelines.record import current_release
from pipelines.settings import Settings, SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.tables import listed
from pipelines.warehouse.contracts import CatalogueError, Column, Said, glossary
from pipelines.warehouse.limited import Ask, QueryError, limited
from pipelines.warehouse.own.models import OWN, Model, Models, models_folder, orders, read_models, readable
from pipelines.warehouse.storage import spill_folder

Parts = dict[str, dict[str, str]]  # of each table: month → what its rows are of
_REVERSED = " order by rowid desc"
ROWS_GONE = "; its last rows, from before an erasure, were removed"
_MANY = 10  # times the rows of its largest input


class OwnTable(msgspec.Struct, frozen=True):
    """An own table in a release: what a built-in one's contract says, and of when its rows are.

    `version` is another one when any row is. `problem` says why the rows are not of this release, "" if they are.
    """

    name: str
    about: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    reads: tuple[str, ...]
    rows: int
    version: str
    made_at: dt.datetime
    warnings: dict[str, int] = {}
    problem: str = ""

    @property
    def description(self) -> str:
        """The words on it, and if its rows are old, since when and why."""
        since = f"Rows of {self.made_at:%Y-%m-%dT%H:%M:%S}Z: {self.problem}\n\n" if self.problem else ""
        return since + self.about

    def table(self) -> catalogue.Table:
        """Return it as a table of the catalogue."""
        return listed(self.name, self.description, self.key, self.columns, self.reads)


class _Record(msgspec.Struct):
    """A kept table, and what it was made of."""

    table: OwnTable
    sha256: str
    inputs: Parts
    erased: str
    is_personal: bool


class OwnTables(NamedTuple):
    """The own tables of a release, and their problems, by the name of a table, check or example."""

    tables: Mapping[str, OwnTable] = {}
    wrong: Mapping[str, str] = {}


def state_file(data_dir: Path) -> Path:
    """Return where own tables are kept between releases."""
    return data_dir / "warehouse" / "own_tables.duckdb"


def make_own(
    models: Models, release: Path, settings: Settings, file: Path, parts: Parts | None = None, erased: str = ""
) -> OwnTables:
    """Make every model that is not as its inputs; `release` is the file of a draft, `parts` lists its content.

    `file` keeps the rows. `erased` is the state of erasures: rows from before another one go, if they lead to anybody.
    """
    parts = {name: {"": ""} for name in readable()} if parts is None else parts
    if not models.digest or (models.missing and not file.exists()):
        file.unlink(missing_ok=True)
        return OwnTables()
    names = {*models.wrong, *(model.name for model in models.models)}
    records, lost = _kept(file, None if models.missing else names, erased)
    wrong = dict(models.wrong)
    if models.missing:
        wrong |= dict.fromkeys(records, f"[models] dir: {models.missing} is missing")
    attached = f"attach {literal(release.resolve())} as release (read_only)", f"attach {literal(file)} as state"
    for model in models.models:
        inputs = {name: parts.get(name, {}) for name in model.reads.tables}
        if absent := [name for name in model.reads.tables if name.startswith(f"{OWN}.") and name not in parts]:
            wrong[model.name] = f"it reads {absent[0]}, which {'is wrong' if absent[0] in wrong else 'no file makes'}"
            continue
        try:
            records[model.name] = _make_if_changed(settings, attached, model, records.get(model.name), inputs, erased)
            parts[model.name] = {"": records[model.name].table.version}
        except (CatalogueError, QueryError) as error:
            wrong[model.name] = str(error) if isinstance(error, CatalogueError) else _short(str(error))
    for name in lost & wrong.keys():
        wrong[name] += ROWS_GONE
    made = ((name, records[name].table) for name in sorted(records))
    return OwnTables({name: msgspec.structs.replace(of, problem=wrong.get(name, "")) for name, of in made}, wrong)


def _make_if_changed(
    settings: Settings, attached: Sequence[str], model: Model, known: _Record | None, inputs: Parts, erased: str
) -> _Record:
    """Return the record of a model's table, which is made unless the one that is kept is of this text and inputs."""
    if known and (known.inputs, known.sha256) == (inputs, model.sha256):
        return known
    is_new = known is None or known.sha256 != model.sha256
    again = _of_reversed(settings, attached, model) if is_new and orders(model.sql) else ""
    with _process(settings, *attached) as ask:
        return _make(ask, model, known, inputs, erased, again)


@contextlib.contextmanager
def _process(settings: Settings, *first: str) -> Iterator[Ask]:
    """Give a process with the schemas that models read, empty, within the limits of [models]."""
    of = settings.models
    too_long = f"it takes longer than [models] seconds = {of.seconds:g}"
    too_large = "it needs more memory than [models] memory_mib, or more disk than disk_mib"
    schemas = (f"create schema memory.{schema}" for schema in ("core", "mart", "meta", "ref", OWN))
    memory, threads = of.memory_mib * 2**20, settings.warehouse.threads or 2
    with spill_folder(settings.data_dir) as spill:
        limits = {"memory_bytes": memory, "spill": str(spill), "disk_mib": of.disk_mib, "threads": threads}
        opening = limits | {"first": [*first, *schemas]}
        with limited(dt.timedelta(seconds=of.seconds), too_long, too_large, **opening) as ask:
            yield ask


def _of_reversed(settings: Settings, attached: Iterable[str], model: Model) -> str:
    """Return the fingerprint of a model's rows of its inputs in another order; "" if it reaches a limit."""
    with contextlib.suppress(QueryError), _process(settings, *attached) as ask:
        _show(ask, model.reads.tables, _REVERSED)
        ask(f"create temp table fresh as {model.sql}")
        return _fingerprint(ask)
    return ""


def _fingerprint(ask: Ask) -> str:
    """Return a text that tells rows apart, in whichever order; of approximate numbers the digits that do not wander."""
    types = ask("describe fresh")["rows"]
    rounded = ", ".join(f'"{row[0]}"::float as "{row[0]}"' for row in types if row[1] == "DOUBLE")
    rows = f"(select *{rounded and f' replace ({rounded})'} from fresh)"
    return str(ask(f"select count(*), sum(hash(t))::varchar from {rows} as t")["rows"])


def _short(message: str) -> str:
    """Return an error of DuckDB, its candidates and line, without other text: values of rows may be in it."""
    first, *others = message.splitlines()
    if not first.startswith(("Binder", "Catalog", "Parser", "Permission")):
        return first.partition(":")[0]
    hints = [each.strip() for each in others if each.startswith(("Candidate", "Did you mean"))]
    lines = [each.partition(":")[0].lower() for each in others if each.startswith("LINE ")]
    return " ".join([first, *hints, *(f"({line})" for line in lines)])


def _kept(file: Path, names: set[str] | None, erased: str) -> tuple[dict[str, _Record], set[str]]:
    """Return the records of the tables that are kept, by name; those of other names are dropped.

    So are, after an erasure, those whose rows may lead to a person, which are named: another file takes its place.
    """
    draft = file.with_name("own_tables.duckdb.tmp")
    draft.unlink(missing_ok=True)
    with duckdb.connect() as con:
        try:
            con.execute(f"attach {literal(file)} as old; create schema if not exists old.{OWN}")
            query = f"select '{OWN}.' || table_name, comment from duckdb_tables() where database_name = 'old'"
            found = con.execute(query).fetchall()
            records = {name: msgspec.json.decode(comment, type=_Record) for name, comment in found}
        except (duckdb.Error, TypeError, ValueError):  # of another version or damaged: all are made again
            file.unlink()
            return {}, set()
        lost = {name for name, record in records.items() if record.is_personal and record.erased != erased}
        kept = {name: records[name] for name in records if name not in lost and (names is None or name in names)}
        if kept == records and all(record.erased == erased for record in kept.values()):
            return kept, set()
        con.execute(f"attach {literal(draft)} as new; create schema new.{OWN}")
        for name, record in kept.items():
            record.erased = erased
            con.execute(f"create table new.{name} as from old.{name}; {_comment(f'new.{name}', record)}")
    draft.replace(file)
    return kept, lost


def _comment(table: str, record: _Record) -> str:
    return f"comment on table {table} is {literal(msgspec.json.encode(record).decode())}"


def _make(ask: Ask, model: Model, known: _Record | None, inputs: Parts, erased: str, again: str) -> _Record:
    """Make a table, and put it in place if it is right; `again` is the fingerprint of its rows from reversed inputs."""
    _show(ask, model.reads.tables)
    ask(f"create temp table fresh as {model.sql}")
    if again and again != _fingerprint(ask):
        advice = "order by columns that no two rows share, and within first, any_value, list and the like"
        raise CatalogueError(f"the same data in another order give other rows: {advice}")
    warnings = _multiplied(ask, model)
    types = {row[0]: row[1] for row in ask("describe fresh")["rows"]}
    columns = tuple(_columns(model, types))
    warnings |= _judge(ask, model, columns)
    own = f"state.{model.name}"
    is_same = known is not None and [(each.name, each.type) for each in known.table.columns] == [*types.items()]
    changes = not is_same or bool(_one(ask, differ(f"(from {own})", "(from fresh)")))
    version = secrets.token_hex(8) if changes or not known else known.table.version
    rows, made_at = _one(ask, "select count(*) from fresh"), utc_now()
    reads = model.reads.tables
    table = OwnTable(model.name, model.head.about, model.head.key, columns, reads, rows, version, made_at, warnings)
    record = _Record(table, model.sha256, inputs, erased, model.is_personal)
    ask("begin")
    if changes:
        ask(f"create or replace table {own} as from fresh")
    ask(_comment(own, record))
    ask("commit")
    return record


def _columns(model: Model, types: dict[str, str]) -> Iterator[Column]:
    """Yield the columns of a table as its head says, the rest from DuckDB and the glossary; raise CatalogueError."""
    said = {each.name: each for each in model.head.said}
    if missing := [name for name in said if name not in types]:
        raise CatalogueError(f"the head names {missing[0]}, which the select does not give")
    if missing := [name for name in model.head.key if name not in types]:
        raise CatalogueError(f"the key names {missing[0]}, which is not a column")
    for name, kind in types.items():
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise CatalogueError(f"column {name!r}: give it a name of small letters, digits and underscores")
        each, word = said.get(name, Said(name, nullable=True)), glossary().get(name, Said(name))
        if each.type not in (None, kind):
            raise CatalogueError(f"{name} is {kind}, and the head says {each.type}: cast it")
        meaning = each.meaning or (word.type in (None, kind) and word.meaning) or ""
        bounds = each.bounds or (None, None)
        yield Column(name, kind, bool(each.nullable), meaning, *bounds, adds_up=each.adds_up is not False)


def _multiplied(ask: Ask, model: Model) -> dict[str, int]:
    """Return a warning if a select made far more rows than it read of any table."""
    largest = max((_one(ask, f"select count(*) from memory.{name}") for name in model.reads.tables), default=0)
    made = _one(ask, "select count(*) from fresh")
    why = f"has over {_MANY} times the {largest:,} rows of its largest input, as of a join without a condition"
    return {why: made} if made > _MANY * largest > 0 else {}


def _endless(column: Column) -> str:
    """Return a condition on rows whose value is infinite or not a number, "" if none can be."""
    if re.fullmatch("DOUBLE|FLOAT|DATE|TIMESTAMP.*[^]]", column.type):
        return f"not isfinite({column.name})"
    nested = re.search("DOUBLE|FLOAT|DATE|TIMESTAMP", column.type) and "VARCHAR" not in column.type
    return f"regexp_matches({column.name}::varchar, '\\b(inf|infinity|nan)\\b')" if nested else ""


def _judge(ask: Ask, model: Model, columns: Iterable[Column]) -> dict[str, int]:
    """Raise CatalogueError unless rows are as the head says and no blocking check finds any; return the warnings."""
    for column in columns:
        endless = "is infinite or not a number, as of a division by 0: divide by nullif(…, 0),"
        for doubt, what in (column.doubt(), "is null or out of its bounds"), (_endless(column), endless):
            if doubt and (count := _one(ask, f"select count(*) from fresh as t where {doubt}")):
                raise CatalogueError(f"{column.name} {what} in {count:,} rows")
    key = ", ".join(model.head.key)
    if key and _one(ask, f"select count(*) from (select 1 from fresh group by {key} having count(*) > 1)"):
        raise CatalogueError(f"its key ({key}) is not unique")
    found = {}
    ask(f"create or replace view memory.{model.name} as from fresh")
    for check in model.checks:
        _show(ask, (name for name in check.reads.tables if name != model.name))
        if count := _one(ask, f"select count(*) from ({check.sql}\n) as t"):
            if check.severity == "blocking":
                raise CatalogueError(f"check {check.name} finds {count:,} rows")
            found[check.name] = count
    return found


def _show(ask: Ask, tables: Iterable[str], order: str = "") -> None:
    """Show the tables that a select reads under their names."""
    for name in tables:
        schema = "state" if name.startswith(f"{OWN}.") else "release"
        ask(f"create or replace view memory.{name} as from {schema}.{name}{order}")


def differ(left: str, right: str) -> str:
    """Return a select that tells whether two relations of the same columns hold other rows, in whichever order."""
    counts = f"(select count(*) from {left}) <> (select count(*) from {right})"
    return f"select {counts} or exists (from {left} except all from {right})"


def _one(ask: Ask, sql: str) -> int:
    return int(ask(sql)["rows"][0][0])


class Tried(NamedTuple):
    """A model, check or example: its problem, if there is one, and what else there is to say."""

    name: str
    wrong: str = ""
    said: tuple[str, ...] = ()


def check_models(settings: Settings) -> Iterator[Tried]:
    """Make every model of the current release as a build does, in a file that is removed again."""
    release = current_release(settings.data_dir / "published")
    models = read_models(settings)
    if models.missing:
        raise SettingsError(f"[models] dir: {models.missing} is missing: `ordermart models new NAME` makes it")
    if release is None:
        raise SettingsError("there is no release to try models on: run `ordermart run` first")
    with tempfile.TemporaryDirectory() as folder:
        made = make_own(models, release / "ordermart.duckdb", settings, Path(folder) / "own.duckdb")
    for name in sorted(made.tables.keys() | made.wrong.keys()):
        said = []
        if table := made.tables.get(name):
            warnings = [f"warning: {check}: {count:,} rows" for check, count in table.warnings.items()]
            said = [f"{table.rows:,} rows", *warnings, ", ".join(f"{c.name} {c.type}" for c in table.columns)]
        yield Tried(name, made.wrong.get(name, ""), tuple(said))


def remade(settings: Settings, release: Path, own: Sequence[OwnTable]) -> Iterator[tuple[str, bool]]:
    """Make the own tables of a release again; yield each that could be made, and whether its rows are alike."""
    if not own:
        return
    with tempfile.TemporaryDirectory(dir=settings.data_dir / "warehouse") as folder:
        state = Path(folder) / "own.duckdb"
        made = make_own(read_models(settings), release / "ordermart.duckdb", settings, state)
        with duckdb.connect() as con:
            for file, schema in ((state, "state"), (release / "ordermart.duckdb", "release")):
                con.execute(f"attach {literal(file)} as {schema} (read_only)")
            for table in own:
                if table.name in made.tables and not table.problem:
                    found = con.execute(differ(f"state.{table.name}", f"release.{table.name}")).fetchone()
                    yield table.name, found == (False,)


def run_tests(settings: Settings) -> Iterator[Tried]:
    """Run every model that has a `.test.txt` beside it on the rows given there."""
    found = read_models(settings)
    models = {model.name: model for model in found.models}
    for path in sorted(models_folder(settings).glob("*.test.txt")):
        name = f"{OWN}.{path.name.removesuffix('.test.txt')}"
        wrong = found.wrong.get(name, f"{path.name} has no model beside it")
        if name in models:
            try:
                wrong = "; ".join(_differences(settings, models[name], path.read_text(encoding="utf-8")))
            except (QueryError, ValueError) as error:
                wrong = f"{path.name}: {str(error).splitlines()[0]}"
        yield Tried(name, wrong)


def _differences(settings: Settings, model: Model, text: str) -> Iterator[str]:
    """Yield a sentence for each row that is missing, and for each that was not expected."""
    blocks = {}
    for block in filter(str.strip, text.split("\n\n")):
        title, *lines = block.strip().splitlines()
        blocks[title.strip()] = [[cell.strip() for cell in line.split("|")] for line in lines]
    if not blocks.get("expected"):
        raise ValueError("has no block `expected`")
    with _process(settings) as ask:
        for name in model.reads.tables:
            rows = blocks.get(f"given {name}", [[]])
            heads = [head.split() for head in rows[0]]
            known = readable()[name].columns if name in readable() else ()
            types = {each.name: each.type for each in known} | {head[0]: head[1] for head in heads if len(head) > 1}
            if not types:
                raise ValueError(f"of {name} give rows, with the type of each column behind its name")
            ask(f"create table {name} ({', '.join(f'{c} {kind}' for c, kind in types.items())})")
            _fill(ask, name, [head[0] for head in heads], rows[1:])
        ask(f"create table made as {model.sql}")
        columns, *rows = blocks["expected"]
        listed = ", ".join(columns)
        ask(f"create table wanted as select {listed} from made limit 0")
        _fill(ask, "wanted", columns, rows)
        for one, other, what in ("wanted", "made", "is missing"), ("made", "wanted", "is not expected"):
            query = f"select {listed} from {one} except all select {listed} from {other} order by all"
            for row in ask(query)["rows"]:
                yield f"{' | '.join('null' if each is None else str(each) for each in row)} {what}"


def _fill(ask: Ask, name: str, columns: list[str], rows: list[list[str]]) -> None:
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of {name} has {len(row)} values, its first line {len(columns)}")
        values = ", ".join("null" if cell == "null" else literal(cell) for cell in row)
        ask(f"insert into {name} ({', '.join(columns)}) values ({values})")
