"""Make the tables of [models] dir for a release that nobody reads yet; what cannot be made keeps its last good rows.

They are kept in data/warehouse/own_tables.duckdb, beside what each was made of: one whose text and inputs are the same
is not made again, and one of scope day or order only for the months that changed.
"""

from __future__ import annotations

import json
import secrets
import select
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import msgspec

from pipelines.clock import utc_now
from pipelines.landing.data_folder import erasures_state
from pipelines.literals import literals
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.tables import BUSINESS, NO_MONTH, month_of, partition_of
from pipelines.warehouse.contracts import SCOPE_KEYS, Column, Contract, glossary
from pipelines.warehouse.own import maker
from pipelines.warehouse.own.models import OWN, Model, Models, is_scoped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from pipelines.settings import Settings

Parts = dict[str, dict[str, str]]  # of each table: month → what its rows are of
_NO_ORDER = " or t.order_id not in (select order_id from release.core.orders)"
_NEVER = "date '0001-01-01'"  # in place of a day that is not stated


class OwnColumn(msgspec.Struct, frozen=True):
    """A column of an own table, as DuckDB has it and the head describes it."""

    name: str
    type: str
    nullable: bool
    description: str


class OwnTable(msgspec.Struct, frozen=True):
    """An own table in a release: what a built-in one's contract says, and of when its rows are.

    `version` is another one when any row is. `problem` says why the rows are not of this release, "" if they are.
    """

    name: str
    about: str
    key: tuple[str, ...]
    scope: str
    columns: tuple[OwnColumn, ...]
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
        columns = tuple(Column(each.name, each.type, each.nullable, each.description) for each in self.columns)
        reads = catalogue.Reads(self.reads, frozenset(), frozenset())
        contract = Contract(self.description, self.key, "all", (), None, is_released=True, columns=columns)
        return catalogue.Table(**vars(contract), name=self.name, sql="", reads=reads)


class Made(NamedTuple):
    """The own tables of a release, and their problems, by the name of a table, check or example."""

    tables: tuple[OwnTable, ...] = ()
    wrong: Mapping[str, str] = {}


def state_file(data_dir: Path) -> Path:
    """Return where own tables are kept between releases."""
    return data_dir / "warehouse" / "own_tables.duckdb"


def make_own(
    settings: Settings, models: Models, release: Path, parts: Parts, *, state: Path | None = None, days: int = 0
) -> Made:
    """Make every model that is not as its inputs; `release` is the file of a draft, `parts` lists its content.

    `state` is another file than the data folder's to keep rows in; with `days` all are made of the last days alone.
    """
    file = state or state_file(settings.data_dir)
    if not models.digest or (models.missing and not file.exists()):
        file.unlink(missing_ok=True)
        return Made()
    erased = erasures_state(settings.data_dir)
    gone = _forget_erased(file, erased)
    wrong, tables = dict(models.wrong), []
    with Maker(settings, release, file) as making:
        records = dict(making.records)
        if models.missing:
            wrong |= {f"{OWN}.{name}": f"[models] dir: {models.missing} is missing" for name in records}
        names = {*wrong, *(model.name for model in models.models)}
        making.drop(name for name in records if f"{OWN}.{name}" not in names)
        for model in models.models:
            if why := _make(making, model, records, parts, wrong, erased, days):
                wrong[model.name] = why
            else:
                parts[model.name] = {"": records[model.stem]["version"]}
        for name in sorted(wrong.keys() | {model.name for model in models.models}):
            record = records.get(name.partition(".")[2])
            if record:
                tables.append(_table(name, record, wrong.get(name, "")))
            elif name.partition(".")[2] in gone:
                wrong[name] = f"{wrong[name]}; its last rows, from before an erasure, were removed"
    return Made(tuple(tables), wrong)


def _make(
    making: Maker,
    model: Model,
    records: dict[str, Any],
    parts: Parts,
    wrong: Mapping[str, str],
    erased: str,
    days: int,
) -> str:
    """Make a model unless its rows are of this text and these inputs; return the problem, "" if there is none."""
    known = records.get(model.stem)
    inputs = {name: parts.get(name, {}) for name in model.reads.tables}
    if model.scope == "day":
        inputs["mart.orders"] = parts["mart.orders"]  # in it is each order's day
    if why := _missing(model, parts, wrong):
        return why
    if known and (known["inputs"], known["sha256"]) == (inputs, model.sha256):
        return ""
    answer = making.ask(_request(model, known, inputs, erased) | (_of_last(model, days) if days else {}))
    if "wrong" not in answer:
        records[model.stem] = answer
    return str(answer.get("wrong", ""))


def _missing(model: Model, parts: Parts, wrong: Mapping[str, str]) -> str:
    """Return which own table a model cannot read, "" if it can read them all."""
    for name in (each for each in model.reads.tables if each.startswith(f"{OWN}.")):
        if name in wrong or name not in parts:
            return f"it reads {name}, which " + ("is wrong" if name in wrong else "no file makes")
    return ""


def _forget_erased(file: Path, erased: str) -> set[str]:
    """After an erasure write another file, without rows that may lead to a person: free blocks would keep them.

    Return the tables that it leaves out.
    """
    if not file.exists():
        return set()
    draft = file.with_name("own_tables.duckdb.tmp")
    draft.unlink(missing_ok=True)
    try:
        with duckdb.connect() as con:
            con.execute(f"attach {maker.quoted(str(file))} as old (read_only)")
            records = {
                n: json.loads(r) for n, r in con.execute("select name, record from old.build.records").fetchall()
            }
            if all(each["erased"] == erased for each in records.values()):
                return set()
            con.execute(f"attach {maker.quoted(str(draft))} as new")
            con.execute("create schema new.own; create schema new.build")
            con.execute("create table new.build.records (name varchar, record varchar)")
            for name, record in records.items():
                if not record["is_personal"]:
                    con.execute(f'create table new.own."{name}" as from old.own."{name}"')
                    record |= {"inputs": {}, "erased": erased}
                    con.execute("insert into new.build.records values (?, ?)", [name, json.dumps(record)])
    except duckdb.Error:  # of another version or damaged: all are made again
        file.unlink()
        return set()
    draft.replace(file)
    return {name for name, record in records.items() if record["is_personal"]}


def _request(model: Model, known: dict[str, Any] | None, inputs: Parts, erased: str) -> dict[str, Any]:
    """Return what the process is asked: which select, of which rows, and what must be true of them."""
    said = {each.name: each for each in model.head.said}
    key = SCOPE_KEYS.get(model.scope, "")
    months = _months(model, known, inputs) if known and known["sha256"] == model.sha256 else None
    claims = []
    for each in said.values():
        column = Column(each.name, each.type or "", bool(each.nullable), "", *(each.bounds or (None, None)))
        if doubt := column.doubt():
            claims.append((f"{each.name} is null or out of its bounds", doubt))
    return {
        "name": model.stem,
        "sql": model.sql,
        "reads": {name: _condition(name, model.scope) for name in model.reads.tables},
        "touched": _touched(model, months) if months else "",
        "gone": _is_touched(key) + (_NO_ORDER if model.scope == "order" else ""),
        "key": key,
        "trial": {"day": "date", "order": "bigint"}.get(model.scope, ""),
        "keys": list(model.head.names("key")) if model.head.facts.get("key") != "none" else [],
        "types": {each.name: each.type for each in said.values()},
        "claims": claims,
        "checks": [
            {
                "name": c.name,
                "sql": c.sql,
                "blocks": c.blocks,
                "reads": {each: _condition(each, "day") for each in c.tables},
            }
            for c in model.checks
        ],
        "known": known,
        "version": secrets.token_hex(8),
        "record": {
            "sha256": model.sha256,
            "inputs": inputs,
            "erased": erased,
            "is_personal": model.is_personal,
            "made_at": utc_now().isoformat(),
            "about": model.head.about,
            "key": list(model.head.names("key")) if model.head.facts.get("key") != "none" else [],
            "scope": model.scope,
            "reads": model.reads.tables,
            "said": {each.name: [bool(each.nullable), each.meaning or ""] for each in said.values()},
        },
    }


def _of_last(model: Model, days: int) -> dict[str, Any]:
    """Return what a request says instead where rows of the last days are enough."""
    day = f"coalesce(business_date, {_NEVER}) as key"
    touched = f"select {day} from release.mart.orders group by all order by key desc limit {days}"
    reads = {name: _condition(name, "day") for name in model.reads.tables}
    return {"sample": touched, "reads": reads, "trial": "", "touched": ""}


def _months(model: Model, known: dict[str, Any], inputs: Parts) -> dict[str, list[str]] | None:
    """Return the months that changed, by how tables are partitioned; None where everything is made again."""
    if model.scope == "all" or known["inputs"].keys() != inputs.keys():
        return None
    found: dict[str, list[str]] = {}
    for name, now in inputs.items():
        before = known["inputs"][name]
        changed = [month for month in now.keys() | before.keys() if now.get(month) != before.get(month)]
        if changed and not is_scoped(name, model.scope):
            return None
        if changed:
            found.setdefault(partition_of(catalogue.table(name)), []).extend(changed)
    return found


def _touched(model: Model, months: dict[str, list[str]]) -> str:
    """Return a select of the days or orders whose rows may be others: those of the months that changed."""
    created = literals(sorted({m for name, each in months.items() if name != BUSINESS for m in each})) or "''"
    business = literals(sorted(set(months.get(BUSINESS, ())))) or "''"
    day_is_in = f"coalesce(strftime(t.business_date, '%Y-%m'), '{NO_MONTH}') in ({business})"
    of_created = f"select order_id from release.core.orders as t where {month_of('t.created_at')} in ({created})"
    if model.scope == "order":
        of_business = f"select order_id from release.mart.orders as t where {day_is_in}"
        return f"select order_id as key from ({of_created} union {of_business})"
    own = f'state.own."{model.stem}"'
    day = f"select coalesce(t.business_date, {_NEVER}) as key from"
    return (
        f"{day} release.mart.orders as t where {day_is_in} or t.order_id in ({of_created}) "
        f"union {day} {own} as t where {day_is_in}"
    )


def _is_touched(key: str) -> str:
    value = f"coalesce(t.business_date, {_NEVER})" if key == "business_date" else f"t.{key}"
    return f"{value} in (select key from temp.touched)"


def _condition(name: str, scope: str) -> str:
    """Return when a row of a table that a model reads belongs to a touched day or order; "": all are read."""
    if scope == "all" or not is_scoped(name, scope):
        return ""
    if scope == "order" or partition_of(catalogue.table(name)) == BUSINESS:
        return _is_touched(SCOPE_KEYS[scope])
    return f"t.order_id in (select order_id from release.mart.orders as t where {_is_touched('business_date')})"


def _table(name: str, record: dict[str, Any], problem: str) -> OwnTable:
    words = glossary()
    columns = []
    for column, kind in record["columns"]:
        nullable, meaning = record["said"].get(column, [True, ""])
        if not meaning and column in words and words[column].type in (None, kind):
            meaning = words[column].meaning or ""
        columns.append(OwnColumn(column, kind, nullable, meaning))
    return OwnTable(
        name, record["about"], tuple(record["key"]), record["scope"], tuple(columns), tuple(record["reads"]),
        record["rows"], record["version"], record["made_at"], record["warnings"], problem,
    )  # fmt: skip


class Maker:
    """The process that runs models; it is ended where it takes too long, and begun again for the next one."""

    def __init__(self, settings: Settings, release: Path, state: Path) -> None:
        self._seconds = settings.models.seconds
        self._spill = settings.data_dir / "warehouse" / "spill"
        self._start = {
            "release": str(release.resolve()),
            "state": str(state),
            "spill": str(self._spill),
            "memory_bytes": settings.models.memory_mib * 2**20,
            "threads": settings.warehouse.threads or 2,
        }
        self._process: subprocess.Popen[str] | None = None
        self.records: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer; of a process that ended or takes too long, the fault."""
        process = self._process or self._begin()
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], self._seconds)[0]:
            self._end(kills=True)
            return {"wrong": f"it takes longer than [models] seconds = {self._seconds:g}"}
        line = process.stdout.readline()
        if not line:
            self._end(kills=True)
            return {"wrong": "its process ended, most likely at [models] memory_mib"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def drop(self, names: Iterable[str]) -> None:
        """Drop tables, and forget them."""
        if given := list(names):
            self.ask({"drop": given, "name": ""})

    def _begin(self) -> subprocess.Popen[str]:
        self._spill.mkdir(parents=True, exist_ok=True)
        self._process = process = subprocess.Popen(  # noqa: S603 -- a program of this package
            [sys.executable, "-I", maker.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, encoding="utf-8",
        )  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        process.stdin.write(json.dumps(self._start) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        self.records = {name: json.loads(record) for name, record in json.loads(line or "{}").items()}
        return process

    def _end(self, *, kills: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if kills:
            process.kill()
        process.communicate()
