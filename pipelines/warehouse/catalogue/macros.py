"""The macros of a release: `sql/macros/<name>.sql`, one select each, over the tables that the release holds.

A macro's file starts with what it is called with and what it gives, in comment lines:

    -- orders_as_of(ts): one row per order that had been observed by then, as its version at that time says.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.landing.charges import read_sql
from pipelines.literals import literal
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
