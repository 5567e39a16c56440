"""The example queries of a release: `sql/examples/<number>_<name>.sql`, one select each.

A file starts with the question that it answers, in one comment line. The queries are the rows of `meta.examples` and
the text of docs/QUESTIONS.md, and a test runs each of them.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from pipelines.warehouse.catalogue.macros import macros
from pipelines.warehouse.catalogue.reads import reads
from pipelines.warehouse.catalogue.tables import SQL
from pipelines.warehouse.contracts import CatalogueError


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
