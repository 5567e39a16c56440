"""Run one select on a release in a process of its own: the request on standard input, the answer on standard output.

`pipelines.report.mcp_server` starts this file by its path, without its environment, and ends it after a time limit:
DuckDB's own limits do not hold for a function that makes one huge value. Imports DuckDB and the standard library;
knows neither settings nor vault.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import resource
import sys
from typing import Any

import duckdb

BESIDE_DUCKDB = 512 * 2**20  # bytes of Python, libraries and stacks, beyond DuckDB's own limit
MAX_TEXT = 10_000  # characters of one value
MAX_ANSWER = 100_000  # characters of all values
MAX_EXACT = 2**53  # a larger integer loses digits in readers that know only doubles
THREADS = 4
# Functions and views of the engine's state, and those that run a text as SQL; of the former the catalogue is open.
_ENGINE = re.compile(
    r"duckdb_|pragma_|pg_settings$|query$|query_table$|current_setting$|getvariable$|.*_serialized_sql$|sqlite_|glob$"
)
_CATALOGUE = {f"duckdb_{name}" for name in ("tables", "columns", "constraints", "functions", "types", "views")}
# Functions in place of a table: others change or show the engine's state, or read files.
_TABLES = {"range", "generate_series", "unnest", "json_each", "json_tree", "repeat", *_CATALOGUE}


def main() -> None:
    """Answer the request; an error of the query is part of the answer."""
    request = json.load(sys.stdin)
    try:
        answer = select(request)
    except duckdb.Error as error:
        answer = {"error": plain(str(error))}
    except MemoryError:
        answer = {"error": "Out of Memory Error: the query needs more than the memory limit"}
    json.dump(answer, sys.stdout)


def select(request: dict[str, Any]) -> dict[str, Any]:
    """Return columns and the first rows of the request's select, and whether there are more."""
    limit_memory(request["memory_bytes"])
    con = open_release(request["database"], request["memory_bytes"])
    kinds = [statement.type for statement in con.extract_statements(request["sql"])]
    if kinds != [duckdb.StatementType.SELECT]:
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        return {"error": f"only one SELECT statement is allowed; found: {found}"}
    if refused := refusal(con, request["sql"]):
        return {"error": refused}
    relation = con.sql(request["sql"])
    columns = [{"name": n, "type": plain(str(t))} for n, t in zip(relation.columns, relation.types, strict=True)]
    size = len(json.dumps(columns))
    if size > MAX_ANSWER:
        return {"error": f"the names and types of the columns have {size:,} characters, of {MAX_ANSWER:,} allowed"}
    first = relation.limit(request["max_rows"] + 1).fetchall()
    rows: list[list[Any]] = []
    for row in first[: request["max_rows"]]:
        values = [plain(value) for value in row]
        size += len(json.dumps(values))
        if size > MAX_ANSWER:
            break
        rows.append(values)
    return {"columns": columns, "rows": rows, "is_truncated": len(rows) < len(first)}


def refusal(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return why a select is refused: it reads the engine's own state, such as paths, or runs SQL in a text."""
    (text,) = con.execute("select json_serialize_sql(?)", [sql]).fetchone() or ("",)
    tree = json.loads(text)
    if tree["error"]:  # such as a pragma, which DuckDB runs as a select
        return "only one SELECT statement is allowed"
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            is_table = node.get("type") == "TABLE_FUNCTION"
            if is_table and (name := node["function"]["function_name"].lower()) not in _TABLES:
                return f"{name} is refused: it is about the engine or files, not about the release"
            for key in ("function_name", "table_name"):
                name = str(node.get(key, "")).lower()
                if _ENGINE.match(name) and name not in _CATALOGUE:
                    return f"{name} is refused: it is about the engine, not about the release"
        nodes += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return ""


def limit_memory(memory_bytes: int) -> None:
    """Limit this process's own memory; DuckDB counts its buffers and not the values that functions make."""
    soft = memory_bytes + BESIDE_DUCKDB
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def open_release(database: str, memory_bytes: int) -> duckdb.DuckDBPyConnection:
    """Open the file read-only, in UTC, without access to other files or the network, its settings locked."""
    options: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "python_enable_replacements": False,
        "memory_limit": f"{memory_bytes}B",
        "temp_directory": "",
        "threads": THREADS,
    }
    con = duckdb.connect(database, read_only=True, config=options)
    con.execute("set timezone = 'UTC'")
    con.execute("set lock_configuration = true")
    return con


def plain(value: Any) -> Any:
    """Return a value as JSON has it: exact numbers and times as text, a long text cut."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    is_exact = isinstance(value, int) and abs(value) <= MAX_EXACT  # a boolean is one
    if value is None or is_exact or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)"


if __name__ == "__main__":
    main()
