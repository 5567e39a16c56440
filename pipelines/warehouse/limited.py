"""Run statements in a DuckDB of a process of its own, which ends at a limit of time or memory, whatever they do.

DuckDB's own limits do not hold for a function that makes one huge value. `limited` starts this file by its path,
without its environment: it imports DuckDB and the standard library alone, and knows neither settings nor vault. Each
line of its standard input is a request, of its standard output an answer.
"""

import contextlib
import datetime as dt
import json
import math
import re
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from numbers import Real
from typing import Any, TextIO, cast

import duckdb

BESIDE_DUCKDB = 512 * 2**20  # bytes of Python, libraries and stacks, beyond DuckDB's own limit
MAX_TEXT = 10_000  # characters of one value of a select that a stranger wrote
MAX_ANSWER = 100_000  # characters of all values
MAX_EXACT = 2**53  # a larger integer loses digits in readers that know only doubles
# Functions and views of the engine's state, and those that run a text as SQL; of the former the catalogue is open.
_ENGINE = re.compile(
    r"duckdb_|pragma_|pg_settings$|query$|query_table$|current_setting$|getvariable$|.*_serialized_sql$|sqlite_|glob$"
)
_CATALOGUE = {f"duckdb_{name}" for name in ("tables", "columns", "constraints", "functions", "types", "views")}
# Functions in place of a table that every select may call: others change or show the engine's state, or read files.
TABLES = {"range", "generate_series", "unnest", "json_each", "json_tree", "repeat"}


Ask = Callable[..., dict[str, Any]]  # runs a statement in the other process


class QueryError(Exception):
    """A statement has no answer; the message says why, in the database's words or as the limit that it exceeded."""


@contextlib.contextmanager
def limited(time: dt.timedelta, too_long: str, too_large: str, **opening: Any) -> Iterator[Ask]:
    """Give a function that runs statements in another process, which has so much time in all; `opened` as told.

    It takes what `answered` takes, and raises QueryError, at a limit with its text: the process is gone, uncommitted.
    """
    # -I and an empty environment: no setting, secret or path of this process reaches the other one
    this, pipe, none = [sys.executable, "-I", __file__], subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(this, stdin=pipe, stdout=pipe, stderr=none, env={}, encoding="utf-8")  # noqa: S603
    requests, answers = cast("tuple[TextIO, TextIO]", (process.stdin, process.stdout))
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    def ask(sql: str | None = None, **more: Any) -> dict[str, Any]:
        try:
            requests.write(json.dumps(more if sql is None else more | {"sql": sql}) + "\n")
            requests.flush()
        except BrokenPipeError:
            with contextlib.suppress(BrokenPipeError):
                requests.close()  # else the same is tried again when the block ends
        line = answers.readline()
        if not line.endswith("\n"):
            raise QueryError(too_long if is_late.is_set() else too_large)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise QueryError(answer["error"] or too_large)
        return answer

    watch = threading.Timer(time.total_seconds(), end)
    watch.start()
    try:
        with process:
            ask(**opening)
            yield ask
    finally:
        watch.cancel()


def main() -> None:
    """Answer requests until there are no more; an error is an answer, "" if it is one of memory."""
    con = None
    for line in sys.stdin:
        answer: dict[str, Any] = {}
        request = json.loads(line)
        try:
            if con:
                answer = answered(con, **request)
            else:
                soft, hard = request["memory_bytes"] + BESIDE_DUCKDB, resource.getrlimit(resource.RLIMIT_DATA)[1]
                if hard == resource.RLIM_INFINITY or soft < hard:  # DuckDB does not count what functions make
                    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
                con = opened(**request)
        except (MemoryError, duckdb.OutOfMemoryException):
            answer = {"error": ""}
        except duckdb.Error as error:
            answer = {"error": plain(str(error))}
        sys.stdout.write(json.dumps(answer, default=str) + "\n")
        sys.stdout.flush()


def opened(
    *,
    database: str = "",
    memory_bytes: int,
    spill: str = "",
    disk_mib: int = 0,
    threads: int = 4,
    first: Sequence[str] = (),
) -> duckdb.DuckDBPyConnection:
    """Open a file to be read, in UTC; run what comes `first`; refuse other files, network and settings from then on."""
    refused = ("python_enable_replacements", "autoinstall_known_extensions", "autoload_known_extensions")
    config: dict[str, Any] = {"memory_limit": f"{memory_bytes}B", "temp_directory": spill, "threads": threads}
    config |= dict.fromkeys(refused, False)
    con = duckdb.connect(database or ":memory:", read_only=bool(database), config=config)
    most = f"set max_temp_directory_size = '{disk_mib}MiB'"  # DuckDB 1.5 takes no notice of it at connect
    last = ("set enable_external_access = false", "set lock_configuration = true")
    for statement in ("set timezone = 'UTC'", most, *first, *last):
        con.execute(statement)
    return con


def answered(con: duckdb.DuckDBPyConnection, sql: str, max_rows: int | None = None) -> dict[str, Any]:
    """Run a statement and return its rows; with `max_rows` it is a stranger's: one select, and an answer of bounds.

    Then the answer has columns and the first rows, as JSON has them, and says whether there are more.
    """
    if max_rows is None:
        return {"rows": con.execute(sql).fetchall()}
    kinds = [statement.type for statement in con.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        return {"error": f"only one SELECT statement is allowed; found: {found}"}
    (text,) = con.execute("select json_serialize_sql(?)", [sql]).fetchone() or ("",)
    tree = json.loads(text)
    if tree["error"]:  # such as a pragma, which DuckDB runs as a select
        return {"error": "only one SELECT statement is allowed"}
    if called := of_engine(tree, TABLES | _CATALOGUE):
        return {"error": f"{called} is refused: it is about the engine or files, not about the release"}
    relation = con.sql(sql)
    columns = [{"name": n, "type": plain(str(t))} for n, t in zip(relation.columns, relation.types, strict=True)]
    size = len(json.dumps(columns))
    if size > MAX_ANSWER:
        return {"error": f"the names and types of the columns have {size:,} characters, of {MAX_ANSWER:,} allowed"}
    first = relation.limit(max_rows + 1).fetchall()
    rows: list[list[Any]] = []
    for row in first[:max_rows]:
        values = [plain(value) for value in row]
        size += len(json.dumps(values))
        if size > MAX_ANSWER:
            break
        rows.append(values)
    return {"columns": columns, "rows": rows, "is_truncated": len(rows) < len(first)}


def of_engine(tree: Any, tables: Collection[str]) -> str:
    """Return a function about the engine or files that a select calls, "" for none; `tables` may stand for tables."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            is_table = node.get("type") == "TABLE_FUNCTION"
            if is_table and (name := node["function"]["function_name"].lower()) not in tables:
                return str(name)
            for key in ("function_name", "table_name"):
                name = str(node.get(key, "")).lower()
                if _ENGINE.match(name) and name not in tables:
                    return name
        nodes += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return ""


def plain(value: Any) -> Any:
    """Return a value as JSON has it: exact numbers and times as text, a long text cut."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if value is None or (isinstance(value, int) and abs(value) <= MAX_EXACT):  # a boolean is one
        return value
    if isinstance(value, Real) and not isinstance(value, int) and math.isfinite(value):
        return value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)"


if __name__ == "__main__":
    main()
