"""Make the tables of [models] dir for a release that nobody reads yet; what cannot be made keeps its last good rows.

They are kept in data/warehouse/own_tables.duckdb, each with a comment that says what it was made of: one whose text and
inputs are the same is not made again, and one of scope day or order only for the days of months that changed.

They are tried without a night on the last days of a release, or on the rows that `<name>.test.txt` gives beside a
model: blocks `given mart.orders` and `expected`, each of rows in columns set apart by bars, `null` for null.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import msgspec

from pipelines.clock import utc_now
from pipelines.literals import literal, literals
from pipelines.record import current_release
from pipelines.resources import resource
from pipelines.settings import SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.meta_tables import META, REFERENCE
from pipelines.warehouse.catalogue.tables import BUSINESS, NO_MONTH, listed, month_of, partition_of
from pipelines.warehouse.contracts import Column, glossary
from pipelines.warehouse.own import maker
from pipelines.warehouse.own.models import OWN, Model, Models, is_scoped, models_folder, read_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.settings import Settings

Parts = dict[str, dict[str, str]]  # of each table: month → what its rows are of
_DAY = "coalesce(t.business_date, date '0001-01-01')"  # in place of a day that is not stated
_DAYS = f"select distinct {_DAY} as key from release.mart.orders as t"
_OF_DAY = f"{_DAY} in (select key from temp.touched)"
_OF_ORDER = f"t.order_id in (select order_id from release.mart.orders as t where {_OF_DAY})"
_LAST_DAYS = f"{_DAYS} order by key desc limit 3"
_MIDDLE = f"select quantile_disc(key, 0.5) as key from ({_DAYS})"
_NO_ORDER = "t.order_id not in (select order_id from release.core.orders)"


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
    made_at: str
    warnings: dict[str, int] = {}
    problem: str = ""

    @property
    def description(self) -> str:
        """The words on it, and if its rows are old, since when and why."""
        return f"Rows of {self.made_at[:19]}Z: {self.problem}\n\n{self.about}" if self.problem else self.about

    def table(self) -> catalogue.Table:
        """Return it as a table of the catalogue."""
        return listed(self.name, self.description, self.key, self.columns, self.reads)


class Made(NamedTuple):
    """The own tables of a release, and their problems, by the name of a table, check or example."""

    tables: tuple[OwnTable, ...] = ()
    wrong: Mapping[str, str] = {}


def state_file(data_dir: Path) -> Path:
    """Return where own tables are kept between releases."""
    return data_dir / "warehouse" / "own_tables.duckdb"


def make_own(
    settings: Settings,
    models: Models,
    release: Path,
    parts: Parts,
    erased: str = "",
    *,
    trial: Path | None = None,
    whole: bool = True,
) -> Made:
    """Make every model that is not as its inputs; `release` is the file of a draft, `parts` lists its content.

    `erased` is the state of erasures: rows from before another one go, unless they lead to nobody.
    `trial` is another file than the data folder's to keep rows in; unless `whole`, all are made of the last three days.
    """
    file = trial or state_file(settings.data_dir)
    if not models.digest or (models.missing and not file.exists()):
        file.unlink(missing_ok=True)
        return Made()
    names = {model.name for model in models.models}
    records, lost = _kept(file, None if models.missing else {*models.wrong, *names}, erased)
    wrong = dict(models.wrong)
    if models.missing:
        wrong |= {f"{OWN}.{name}": f"[models] dir: {models.missing} is missing" for name in records}
    spill = settings.data_dir / "warehouse" / "spill"
    spill.mkdir(parents=True, exist_ok=True)
    start = {
        "release": str(release.resolve()),
        "state": str(file),
        "spill": str(spill),
        "memory_bytes": settings.models.memory_mib * 2**20,
        "threads": settings.warehouse.threads or 2,
    }
    for model in models.models:
        inputs = {name: parts.get(name, {}) for name in model.reads.tables}
        if model.scope != "all":
            inputs["mart.orders"] = parts["mart.orders"]  # in it is each order's day
        known = records.get(model.stem)
        why = _missing(model, parts, wrong)
        if not why and (not known or (known["inputs"], known["sha256"]) != (inputs, model.sha256)):
            answer = _asked(start | _request(model, known, inputs, erased, whole=whole), settings)
            why = answer.get("wrong", "")
            records |= {} if why else {model.stem: answer}
        if why:
            wrong[model.name] = why
        else:
            parts[model.name] = {"": records[model.stem]["version"]}
    for name in lost & {name.removeprefix(f"{OWN}.") for name in wrong}:
        wrong[f"{OWN}.{name}"] += "; its last rows, from before an erasure, were removed"
    return Made(tuple(_table(stem, records[stem], wrong) for stem in sorted(records)), wrong)


def _missing(model: Model, parts: Parts, wrong: Mapping[str, str]) -> str:
    """Return which own table a model cannot read, "" if it can read them all."""
    for name in (each for each in model.reads.tables if each.startswith(f"{OWN}.")):
        if name in wrong or name not in parts:
            return f"it reads {name}, which " + ("is wrong" if name in wrong else "no file makes")
    return ""


def _asked(request: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the answer of a process; of one that ends without or takes too long, the fault."""
    command = [sys.executable, "-I", maker.__file__]
    try:
        done = subprocess.run(  # noqa: S603 -- a program of this package
            command,
            input=json.dumps(request),
            capture_output=True,
            timeout=settings.models.seconds,
            env={},
            encoding="utf-8",
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"wrong": f"it takes longer than [models] seconds = {settings.models.seconds:g}"}
    except subprocess.CalledProcessError:
        return {"wrong": "its process ended, most likely at [models] memory_mib"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _kept(file: Path, names: set[str] | None, erased: str) -> tuple[dict[str, Any], set[str]]:
    """Return the records of the tables that are kept; drop those of other names.

    After an erasure drop those, too, whose rows may lead to a person, and return them. They are in no block of the file
    then, since another one takes its place.
    """
    draft = file.with_name("own_tables.duckdb.tmp")
    draft.unlink(missing_ok=True)
    with duckdb.connect() as con:
        try:
            con.execute(f"attach {literal(file)} as old")
            con.execute(f"create schema if not exists old.{OWN}")
            query = "select table_name, comment from duckdb_tables() where database_name = 'old'"
            records = {name: json.loads(comment) for name, comment in con.execute(query).fetchall()}
        except (duckdb.Error, TypeError, ValueError):  # of another version or damaged: all are made again
            file.unlink()
            return {}, set()
        for name in [name for name in records if names is not None and f"{OWN}.{name}" not in names]:
            con.execute(f'drop table old.{OWN}."{name}"')
            del records[name]
        if all(each["erased"] == erased for each in records.values()):
            return records, set()
        con.execute(f"attach {literal(draft)} as new")
        con.execute(f"create schema new.{OWN}")
        lost = {name for name, record in records.items() if record["is_personal"]}
        records = {name: record | {"erased": erased} for name, record in records.items() if name not in lost}
        for name, record in records.items():
            con.execute(f'create table new.{OWN}."{name}" as from old.{OWN}."{name}"')
            con.execute(f'comment on table new.{OWN}."{name}" is {literal(json.dumps(record))}')
    draft.replace(file)
    return records, lost


def _request(model: Model, known: dict[str, Any] | None, inputs: Parts, erased: str, *, whole: bool) -> dict[str, Any]:
    """Return the request to the process: which select, of which rows, and what must be true of them."""
    said = {each.name: each for each in model.head.said}
    scope, touched = (model.scope, _touched(model, known, inputs)) if whole else ("day", _LAST_DAYS)

    def conditions(read: catalogue.Reads) -> dict[str, str]:
        return {name: _condition(name, scope) for name in read.tables}

    claims = []
    for each in said.values():
        column = Column(each.name, each.type or "", bool(each.nullable), "", *(each.bounds or (None, None)))
        if doubt := column.doubt():
            claims.append((f"{each.name} is null or out of its bounds", doubt))
    touches = _OF_ORDER if model.scope == "order" else _OF_DAY
    checks = [
        {"name": each.name, "sql": each.sql, "blocks": each.severity == "blocking", "reads": conditions(each.reads)}
        for each in model.checks
    ]
    return {
        "name": model.stem,
        "sql": model.sql,
        "reads": conditions(model.reads),
        "touched": touched,
        "touches": touches,
        "gone": f"{touches} or {_NO_ORDER}" if model.scope == "order" else touches,
        "trial": "" if model.scope == "all" else _MIDDLE,
        "types": {each.name: each.type for each in said.values()},
        "claims": claims,
        "checks": checks,
        "known": known,
        "version": secrets.token_hex(8),
        "record": {
            "sha256": model.sha256,
            "inputs": inputs,
            "erased": erased,
            "is_personal": model.is_personal,
            "made_at": utc_now().isoformat(),
            "about": model.head.about,
            "key": model.key,
            "reads": model.reads.tables,
            "said": {
                each.name: [bool(each.nullable), each.meaning or "", each.adds_up is not False]
                for each in said.values()
            },
        },
    }


def _touched(model: Model, known: dict[str, Any] | None, inputs: Parts) -> str:
    """Return a select of the days, before and after, whose rows may be others; "" if all may.

    They are those of the months that changed, and of the orders that were created in such a month.
    """
    if model.scope == "all" or not known or known["sha256"] != model.sha256 or known["inputs"].keys() != inputs.keys():
        return ""
    months: dict[str, set[str]] = {BUSINESS: set(), "": set()}
    for name, now in inputs.items():
        before = known["inputs"][name]
        changed = {month for month in now.keys() | before.keys() if now.get(month) != before.get(month)}
        if changed and not is_scoped(name, model.scope):
            return ""
        if changed:
            months[BUSINESS if partition_of(catalogue.table(name)) == BUSINESS else ""] |= changed
    business, created = (literals(sorted(each)) or "''" for each in months.values())
    is_in = f"coalesce(strftime(t.business_date, '%Y-%m'), '{NO_MONTH}') in ({business})"
    of_created = f"select order_id from release.core.orders as t where {month_of('t.created_at')} in ({created})"
    own = f' union select {_DAY} from state.{OWN}."{model.stem}" as t where {is_in}' if model.scope == "day" else ""
    return f"{_DAYS} where {is_in} or t.order_id in ({of_created}){own}"


def _condition(name: str, scope: str) -> str:
    """Return when a row of a table that a model reads belongs to a touched day; "": all are read."""
    if scope == "all" or not is_scoped(name, scope):
        return ""
    return _OF_DAY if partition_of(catalogue.table(name)) == BUSINESS else _OF_ORDER


def _table(stem: str, record: dict[str, Any], wrong: Mapping[str, str]) -> OwnTable:
    columns = []
    for name, kind in record["columns"]:
        nullable, meaning, adds_up = record["said"].get(name, [True, "", True])
        word = glossary().get(name)
        if not meaning and word and word.type in (None, kind):
            meaning = word.meaning or ""
        columns.append(Column(name, kind, nullable, meaning, adds_up=adds_up))
    facts = {field: record[field] for field in ("about", "rows", "version", "made_at", "warnings")}
    key, reads = tuple(record["key"]), tuple(record["reads"])
    name = f"{OWN}.{stem}"
    return OwnTable(**facts, name=name, key=key, reads=reads, columns=tuple(columns), problem=wrong.get(name, ""))


class Tried(NamedTuple):
    """A model, check or example: its problem, if there is one, and what else there is to say."""

    name: str
    wrong: str = ""
    said: tuple[str, ...] = ()


def new_model(settings: Settings, name: str) -> Path:
    """Write a model to begin with, or copy that of docs/models and its checks; raise SettingsError if there is one."""
    folder = models_folder(settings)
    path = folder / f"{name}.sql"
    if not name.isidentifier() or name != name.lower():
        raise SettingsError(f"{name!r} is no name of a table: small letters, digits and underscores")
    if path.exists():
        raise SettingsError(f"{path} exists: name another table, or edit it")
    shipped = resource("docs") / "models"
    copies = {folder / file.relative_to(shipped): file for file in shipped.glob(f"checks/{name}__*.sql")}
    begun = shipped / path.name
    copies[path] = begun if begun.exists() else catalogue.SQL / "own" / "new.sql"
    for copy, file in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(file.read_text("utf-8"), encoding="utf-8")
    return path


def check_models(settings: Settings) -> list[Tried]:
    """Make every model of the last days of the current release, in a file that is removed again."""
    release = current_release(settings.data_dir / "published")
    models = read_models(settings)
    if models.missing:
        raise SettingsError(f"[models] dir: {models.missing} is missing: `ordermart models new NAME` makes it")
    if release is None:
        raise SettingsError("there is no release to try models on: run `ordermart run` first")
    with tempfile.TemporaryDirectory() as folder:
        made = make_own(
            settings, models, release / "ordermart.duckdb", _parts(), trial=Path(folder) / "own.duckdb", whole=False
        )
    tables = {table.name: table for table in made.tables}
    found = []
    for name in sorted(tables.keys() | made.wrong.keys()):
        said = []
        if table := tables.get(name):
            said.append(f"{table.rows:,} rows of the last days")
            said += [f"check {check} warns of {count:,} rows" for check, count in table.warnings.items()]
            said.append(", ".join(f"{c.name} {c.type}" for c in table.columns))
        found.append(Tried(name, made.wrong.get(name, ""), tuple(said)))
    return found


def remade(settings: Settings, release: Path, own: Sequence[OwnTable]) -> Iterator[tuple[str, bool]]:
    """Make the own tables of a release again, whole; yield each that could be made, and whether its rows are alike."""
    if not own:
        return
    with tempfile.TemporaryDirectory(dir=settings.data_dir / "warehouse") as folder:
        state = Path(folder) / "own.duckdb"
        made = make_own(settings, read_models(settings), release / "ordermart.duckdb", _parts(), trial=state)
        right = {table.name for table in made.tables}
        with duckdb.connect() as con:
            con.execute(f"attach {literal(state)} as state (read_only)")
            con.execute(f"attach {literal(release / 'ordermart.duckdb')} as release (read_only)")
            for table in own:
                if table.name in right and not table.problem:
                    yield table.name, not maker.differ(con, f"state.{table.name}", f"release.{table.name}")


def run_tests(settings: Settings) -> list[Tried]:
    """Run every model that has a `.test.txt` beside it on the rows given there."""
    folder = models_folder(settings)
    found = read_models(settings)
    models = {model.name: model for model in found.models}
    tried = []
    for path in sorted(folder.glob("*.test.txt")):
        name = f"{OWN}.{path.name.removesuffix('.test.txt')}"
        if name not in models:
            tried.append(Tried(name, found.wrong.get(name, f"{path.name} has no model beside it")))
            continue
        try:
            tried.append(Tried(name, "; ".join(_differences(models[name], path.read_text(encoding="utf-8")))))
        except (duckdb.Error, ValueError) as error:
            tried.append(Tried(name, f"{path.name}: {str(error).splitlines()[0]}"))
    return tried


def _differences(model: Model, text: str) -> Iterator[str]:
    """Yield a sentence for each row that is missing, and for each that was not expected."""
    blocks = {}
    for block in filter(str.strip, text.split("\n\n")):
        title, *lines = block.strip().splitlines()
        blocks[title.strip()] = [[cell.strip() for cell in line.split("|")] for line in lines]
    if not blocks.get("expected"):
        raise ValueError("has no block `expected`")
    config: dict[str, Any] = {"enable_external_access": False, "python_enable_replacements": False}
    with duckdb.connect(config=config) as con:
        con.execute("set timezone = 'UTC'")
        con.execute("set lock_configuration = true")
        for schema in ("core", "mart", "meta", "ref", OWN):
            con.execute(f"create schema {schema}")
        for name in model.reads.tables:
            rows = blocks.get(f"given {name}", [[]])
            heads = [head.split() for head in rows[0]]
            types = _types().get(name, {}) | {head[0]: head[1] for head in heads if len(head) > 1}
            if not types:
                raise ValueError(f"of {name} give rows, with the type of each column behind its name")
            con.execute(f"create table {name} ({', '.join(f'{c} {kind}' for c, kind in types.items())})")
            _fill(con, name, [head[0] for head in heads], rows[1:])
        con.execute(f"create table made as {model.sql}")
        columns, *rows = blocks["expected"]
        listed = ", ".join(columns)
        con.execute(f"create table wanted as select {listed} from made limit 0")
        _fill(con, "wanted", columns, rows)
        for one, other, what in ("wanted", "made", "is missing"), ("made", "wanted", "is not expected"):
            query = f"select {listed} from {one} except all select {listed} from {other} order by all"
            for row in con.execute(query).fetchall():
                yield f"{' | '.join('null' if each is None else str(each) for each in row)} {what}"


def _fill(con: duckdb.DuckDBPyConnection, name: str, columns: list[str], rows: list[list[str]]) -> None:
    """Insert rows of text into a table."""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of {name} has {len(row)} values, its first line {len(columns)}")
        values = ", ".join("null" if cell == "null" else literal(cell) for cell in row)
        con.execute(f"insert into {name} ({', '.join(columns)}) values ({values})")


def _types() -> dict[str, dict[str, str]]:
    """Return the columns of each table that models may read, with their types."""
    tables = (*catalogue.released(), *META, *REFERENCE)
    return {table.name: {column.name: column.type for column in table.columns} for table in tables}


def _parts() -> Parts:
    """Return parts of tables under which every model is made."""
    return {name: {"": ""} for name in _types()}
