"""Try models without a night: on the last days of a release, or on rows that a text file beside a model gives.

`<name>.test.txt` has blocks, each with its rows in columns set apart by bars, `null` for null:

    given mart.orders
    order_id | business_date | total_price
    1        | 2026-10-01    | 5.00

    expected
    business_date | total_price
    2026-10-01    | 5.00
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from pipelines.literals import literal
from pipelines.record import current_release
from pipelines.resources import resource
from pipelines.settings import SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.meta_tables import ALWAYS, COMPARED, OF_OWN, REFERENCE
from pipelines.warehouse.own.maker import differ
from pipelines.warehouse.own.making import Parts, make_own
from pipelines.warehouse.own.models import OWN, models_folder, read_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.settings import Settings
    from pipelines.warehouse.own.making import OwnTable
    from pipelines.warehouse.own.models import Model


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
                    yield table.name, not differ(con, f"state.{table.name}", f"release.{table.name}")


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
    found = {table.name: {c.name: c.type for c in table.columns} for table in catalogue.released()}
    metas = (*ALWAYS, *COMPARED, *OF_OWN, *REFERENCE)
    return found | {meta.name: {name: kind for name, kind, _ in meta.columns} for meta in metas}


def _parts() -> Parts:
    """Return parts of tables under which every model is made."""
    return {name: {"": ""} for name in _types()}
