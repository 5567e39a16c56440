"""Compare the hashes of all rows of the world in `story.py` with those in rows.txt.

A line of the file is one table, or select, at one time: its count of rows, and column=hash for each column. `-` stands
for a hash that depends on the order of rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.record import current_release
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import warehouse_file
from tests.unchanged import story
from tests.unchanged.altered import altered, altered_results, opened, results, selects
from tests.unchanged.hashed import Hashes, hash_of, hashes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE = Path(__file__).with_name("rows.txt")
COMMAND = "python -m tests.unchanged"
ANY = "-"
_TEXTS = ("description", "columns", "name", "sql", "reads")


def made(folder: Path) -> Iterator[tuple[str, Hashes]]:
    """Let the story happen in an empty folder; give the hashes of each table as soon as it is there."""
    yield from ((f"contract {table.name}", _of_contract(table)) for table in catalogue.tables())
    world = story.begin(folder)
    yield from _of_file("first", warehouse_file(world.data))
    story.close_days(world)
    release = current_release(world.data / "published")
    assert release
    yield from _of_file("release", release / "ordermart.duckdb", ("meta", "ref"))
    story.go_on(world)
    yield from _of_file("later", warehouse_file(world.data))
    with opened(world.settings, warehouse_file(world.data)) as con:
        others = {name: sql for name, sql in selects(con) if not name.startswith("select ")}  # those are in the file
        yield from ((f"plain {name}", found) for name, found in results(con, others))
    with altered(world.settings) as con:
        yield from altered_results(con)


def _of_contract(table: catalogue.Table) -> Hashes:
    """Return the hashes of a contract's words on the table, and of each column, but for descriptions."""
    said: dict[str, Any] = {"grain": [value for name, value in vars(table).items() if name not in _TEXTS]}
    for column in table.columns:
        said[column.name] = [value for name, value in vars(column).items() if name != "description"]
    return {"rows": str(len(table.columns)), **{name: hash_of(repr(each)) for name, each in said.items()}}


def kept(text: str | None = None) -> dict[str, Hashes]:
    """Return the hashes that are in the file."""
    lines = (FILE.read_text(encoding="utf-8") if text is None else text).splitlines()
    found = {}
    for line in lines:
        name, _, columns = line.partition(": ")
        found[name] = dict(column.rsplit("=", 1) for column in columns.split(" "))
    return found


def written(found: Iterable[tuple[str, Hashes]]) -> str:
    """Return the text of a file of these hashes."""
    lines = (f"{name}: {' '.join(f'{column}={value}' for column, value in columns.items())}" for name, columns in found)
    return "".join(f"{line}\n" for line in sorted(lines))


def difference(name: str, found: Hashes, expected: Hashes | None) -> str:
    """Say in which columns a table differs from the file, or return an empty text."""
    if expected is None:
        return f"{name} is not in the file"
    differs = [
        column
        for column in {**expected, **found}
        if expected.get(column) != ANY and found.get(column) != expected.get(column)
    ]
    if not differs:
        return ""
    rows = f"{found.get('rows', found)} rows" + (f", not {expected.get('rows')}" if "rows" in differs else "")
    return f"{name} ({rows}): {', '.join(column for column in differs if column != 'rows')}"


def _of_file(
    when: str, file: Path, schemas: tuple[str, ...] = ("core", "mart", "audit", "workings")
) -> Iterator[tuple[str, Hashes]]:
    with duckdb.connect(str(file), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        tables = con.execute(
            "select schema_name, table_name from duckdb_tables() where schema_name in (select unnest(?)) order by all",
            [list(schemas)],
        ).fetchall()
        for schema, table in tables:
            found = con.execute(f'from "{schema}"."{table}"')
            columns = [column[0] for column in found.description or ()]
            rows = found.fetchall()
            yield f"{when} {schema}.{table}", hashes(columns, rows)
