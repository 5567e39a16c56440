"""The scalar functions of the build: `sql/functions/<name>.sql`, one expression each.

A file starts with the function's signature and meaning, in comment lines:

    -- rounded(amount, mode, unit): the amount in whole units …
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.landing.charges import read_sql
from pipelines.warehouse.catalogue import SQL, CatalogueError

if TYPE_CHECKING:
    import duckdb


def create_functions(con: duckdb.DuckDBPyConnection) -> None:
    """Create every function in the current database, for all SQL of a build; raise CatalogueError for a bad header."""
    for path in sorted((SQL / "functions").glob("*.sql")):
        expression = read_sql(path)
        head = re.match(rf"-- ({path.stem}\([\w, ]*\)): ", expression)
        if not head:
            raise CatalogueError(f"functions/{path.name} must start with `-- {path.stem}(…): ` and its meaning")
        con.execute(f"create macro {head[1]} as {expression}")
