"""Make a table of a user's own in a process of its own: a request on standard input, the answer on standard output.

`pipelines.warehouse.own.making` starts this file by its path, without its environment, and ends it after a time limit.
DuckDB has the release's file, which it may only read, and the file that keeps the tables; no other file, no network,
no extension and no other database can be reached. Imports DuckDB and the standard library alone.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any

import duckdb

BESIDE_DUCKDB = 512 * 2**20  # bytes of Python, libraries and stacks, beyond DuckDB's own limit


class BrokenError(Exception):
    """A model's rows are not what its head or a check says; the message says what."""


def main() -> None:
    """Answer the request; of a model that is wrong nothing is committed."""
    request = json.loads(sys.stdin.read())
    try:
        answer = made(opened(request), request)
    except BrokenError as error:
        answer = {"wrong": str(error)}
    except (MemoryError, duckdb.OutOfMemoryException):
        answer = {"wrong": "it needs more memory than [models] memory_mib"}
    except duckdb.Error as error:
        answer = {"wrong": short(str(error))}
    sys.stdout.write(json.dumps(answer))


def short(message: str) -> str:
    """Return an error of DuckDB without the text that it quotes: values of rows may be in it."""
    first = message.partition("\n")[0]
    return first if first.startswith(("Binder", "Catalog", "Parser", "Permission")) else first.partition(":")[0]


def opened(request: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open the release to be read and the file of the tables to be written, and nothing else."""
    limit = request["memory_bytes"] + BESIDE_DUCKDB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    config = {
        "memory_limit": f"{request['memory_bytes']}B",
        "temp_directory": request["spill"],
        "threads": request["threads"],
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
    con = duckdb.connect(config=config)
    con.execute(f"attach {quoted(request['release'])} as release (read_only)")
    con.execute(f"attach {quoted(request['state'])} as state")
    con.execute("set timezone = 'UTC'")
    for schema in ("core", "mart", "meta", "ref", "own"):
        con.execute(f"create schema memory.{schema}")
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    return con


def made(con: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> dict[str, Any]:
    """Make a table, whole or for touched days; look at it, and put it in place, with its record, if it is right."""
    own, known, gone = f'state.own."{request["name"]}"', request["known"], request["gone"]
    con.execute(f"create temp table touched as {request['touched'] or 'select null as key'}")
    show(con, request["reads"], is_limited=bool(request["touched"]))
    con.execute(f"create temp table fresh as {request['sql']}")
    columns = [[row[0], row[1]] for row in con.execute("describe fresh").fetchall()]
    adds = bool(known and request["touched"])
    if adds and columns != known["columns"]:
        raise BrokenError("its columns are others than before, with the same text")
    if request["trial"] and not request["touched"]:
        try_alone(con, request)
    whole = f"from {own} as t where not ({gone}) union all from fresh" if adds else "from fresh"
    found = judged(con, request, dict(columns), whole)
    before = f"(from {own} as t where {gone})" if adds else f"(from {own})"
    changed = not known or columns != known["columns"] or differ(con, before, "(from fresh)")
    record: dict[str, Any] = request["record"] | {"columns": columns, "warnings": found}
    record["rows"] = one(con, f"select count(*) from ({whole})")
    record["version"] = request["version"] if changed else known["version"]
    con.execute("begin")
    if changed and adds:
        con.execute(f"delete from {own} as t where {gone}")
        con.execute(f"insert into {own} from fresh")
    elif changed:
        con.execute(f"create or replace table {own} as from fresh")
    con.execute(f"comment on table {own} is {quoted(json.dumps(record))}")
    con.execute("commit")
    return record


def show(con: duckdb.DuckDBPyConnection, reads: dict[str, str], *, is_limited: bool = False) -> None:
    """Show the tables that a select reads under their names, all of their rows or those of touched days."""
    for name, condition in reads.items():
        source = f"state.{name}" if name.startswith("own.") else f"release.{name}"
        where = f" as t where {condition}" if condition and is_limited else ""
        con.execute(f"create or replace view memory.{name} as from {source}{where}")


def try_alone(con: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> None:
    """Make a day in the middle alone, and compare it with the whole: a scope that is not true is refused."""
    con.execute(f"create or replace temp table touched as {request['trial']}")
    show(con, request["reads"], is_limited=True)
    if differ(con, f"({request['sql']}\n)", f"(from fresh as t where {request['touches']})"):
        raise BrokenError("scope: rows made for one day alone differ from those made whole: leave it out")


def judged(
    con: duckdb.DuckDBPyConnection, request: dict[str, Any], types: dict[str, str], whole: str
) -> dict[str, int]:
    """Raise BrokenError unless rows are as the head says and no blocking check finds any; return the warnings."""
    as_declared(request, types)
    for claim, condition in request["claims"]:
        if count := one(con, f"select count(*) from ({whole}) as t where {condition}"):
            raise BrokenError(f"{claim} in {count:,} rows")
    key = ", ".join(f'"{name}"' for name in request["record"]["key"])
    if key and one(con, f"select count(*) from (select 1 from ({whole}) group by {key} having count(*) > 1)"):
        raise BrokenError(f"its key ({key}) is not unique")
    found = {}
    con.execute(f'create or replace view memory.own."{request["name"]}" as {whole}')
    for check in request["checks"]:
        is_sample = bool(request["touched"] and not request["known"])
        show(con, {n: c for n, c in check["reads"].items() if n != f"own.{request['name']}"}, is_limited=is_sample)
        if count := one(con, f"select count(*) from ({check['sql']}\n) as t"):
            if check["blocks"]:
                raise BrokenError(f"check {check['name']} finds {count:,} rows")
            found[check["name"]] = count
    return found


def as_declared(request: dict[str, Any], types: dict[str, str]) -> None:
    """Raise BrokenError where columns are not as the head says, or have names that not every reader takes."""
    for name, kind in request["types"].items():
        if name not in types:
            raise BrokenError(f"the head names {name}, which the select does not give")
        if kind and types[name] != kind:
            raise BrokenError(f"{name} is {types[name]}, and the head says {kind}: cast it")
    if strange := [name for name in types if not re.fullmatch(r"[a-z_][a-z0-9_]*", name)]:
        raise BrokenError(f"column {strange[0]!r}: give it a name of small letters, digits and underscores")
    if missing := [name for name in request["record"]["key"] if name not in types]:
        raise BrokenError(f"{missing[0]} of the key is no column")


def differ(con: duckdb.DuckDBPyConnection, left: str, right: str) -> bool:
    """Tell whether two relations of the same columns hold other rows; their order does not matter."""
    sums = con.execute(
        f"select count(*), sum(hash(t)) from {left} as t union all select count(*), sum(hash(t)) from {right} as t"
    ).fetchall()
    if sums[0] != sums[1]:
        return True
    return bool(con.execute(f"select 1 from (from {left} except all from {right}) limit 1").fetchall())


def one(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return the number that a select counts."""
    return int((con.execute(sql).fetchone() or (0,))[0])


def quoted(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
