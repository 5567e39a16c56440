"""The macros of a release: `sql/macros/<name>.sql`, one select each, over the tables that the release holds.

A macro's file starts with what it is called with and what it gives, in comment lines:

    -- orders_as_of(ts): one row per order that had been observed by then, as its version at that time says.

The example queries are `sql/examples/<number>_<name>.sql`: the question that it answers, in one comment line, and one
select. They are the rows of `meta.examples` and the text of docs/QUESTIONS.md, and a test runs each of them.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.landing.charges import read_sql
from pipelines.literals import literal
from pipelines.warehouse.catalogue.reads import reads
from pipelines.warehouse.catalogue.tables import SQL
from pipelines.warehouse.contracts import CatalogueError

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb


@dataclass(frozen=True)
class Macro:
    """A table macro: `from name(parameters)`; `about` says what it gives."""

    name: str
    parameters: tuple[str, ...]
    about: str
    sql: str

    @property
    def call(self) -> str:
        """How it is called."""
        return f"{self.name}({', '.join(self.parameters)})"


@functools.cache
def macros() -> tuple[Macro, ...]:
    """Return every macro, by name. Raise CatalogueError where a file does not say how it is called."""
    return tuple(_macro(path) for path in sorted((SQL / "macros").glob("*.sql")))


def create_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Create every macro, with its comment, in the schema main of a database that was opened itself.

    A macro finds its tables where it is created, so an attached database will not do.
    """
    for macro in macros():
        con.execute(f"create macro main.{macro.call} as table {macro.sql}")
        con.execute(f"comment on macro table main.{macro.name} is {literal(macro.about)}")


def _macro(path: Path) -> Macro:
    sql = read_sql(path)
    head = re.match(rf"-- {path.stem}\(([\w, ]*)\): (.+(?:\n-- .+)*)", sql)
    if not head:
        raise CatalogueError(f"macros/{path.name} must start with `-- {path.stem}(…): ` and what it gives")
    parameters = tuple(each.strip() for each in head[1].split(",") if each.strip())
    about = head[2].replace("\n-- ", " ")
    return Macro(path.stem, parameters, about[0].upper() + about[1:], sql)


@dataclass(frozen=True)
class Example:
    """A question and the select that answers it; `tables` are those that the select or its macro reads."""

    name: str
    question: str
    sql: str
    tables: tuple[str, ...]


@functools.cache
def examples() -> tuple[Example, ...]:
    """Return every example in the order of its file. Raise CatalogueError for one that starts with no question."""
    found = []
    for path in sorted((SQL / "examples").glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        head = re.match(r"-- (.+\?)\n", text)
        if not head:
            raise CatalogueError(f"examples/{path.name} must start with `-- ` and its question")
        sql = text[head.end() :].strip()
        tables = {*reads(sql).tables}
        for macro in macros():
            if f"{macro.name}(" in sql:
                tables.update(reads(macro.sql).tables)
        found.append(Example(path.stem.partition("_")[2], head[1], sql, tuple(sorted(tables))))
    return tuple(found)
