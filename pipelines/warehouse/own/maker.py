"""Make tables of users' own in a process of its own: requests on standard input, an answer each on standard output.

`pipelines.warehouse.own.making` starts this file by its path, without its environment, and ends it after a time limit.
DuckDB has the release's file, which it may only read, and the file that keeps the tables; no other file, no network,
no extension and no other database can be reached. Imports DuckDB and the standard library alone.
"""

from __future__ import annotations

import contextlib
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
    """Answer requests until there are no more."""
    con = opened(json.loads(sys.stdin.readline()))
    say(dict(con.execute("select name, record from state.build.records").fetchall()))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = dropped(con, request["drop"]) if "drop" in request else made(con, request)
        except BrokenError as error:
            answer = {"wrong": str(error)}
        except (MemoryError, duckdb.OutOfMemoryException):
            answer = {"wrong": "it needs more memory than [models] memory_mib"}
        except duckdb.Error as error:
            answer = {"wrong": short(str(error))}
        if "wrong" in answer:  # its rows are in no file
            with contextlib.suppress(duckdb.Error):
                con.execute("rollback")
            con.execute(f'drop table if exists state.fresh."{request["name"]}"')
        say(answer)


def say(answer: dict[str, Any]) -> None:
    """Answer a request."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def short(message: str) -> str:
    """Return an error of DuckDB without the text that it quotes: values of rows may be in it."""
    first = message.partition("\n")[0]
    return first if first.startswith(("Binder", "Catalog", "Parser", "Permission")) else first.partition(":")[0]


def opened(start: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Open the release to be read and the file of the tables to be written, and nothing else."""
    limit = start["memory_bytes"] + BESIDE_DUCKDB
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    config = {
        "memory_limit": f"{start['memory_bytes']}B",
        "temp_directory": start["spill"],
        "threads": start["threads"],
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
    con = duckdb.connect(config=config)
    con.execute(f"attach {quoted(start['release'])} as release (read_only)")
    con.execute(f"attach {quoted(start['state'])} as state")
    con.execute("set timezone = 'UTC'")
    for schema in ("core", "mart", "meta", "ref", "own"):
        con.execute(f"create schema memory.{schema}")
    for schema in ("own", "fresh", "build"):
        con.execute(f"create schema if not exists state.{schema}")
    con.execute("create table if not exists state.build.records (name varchar, record varchar)")
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    return con


def dropped(con: duckdb.DuckDBPyConnection, names: list[str]) -> dict[str, Any]:
    """Drop tables, and their records."""
    for name in names:
        con.execute(f'drop table if exists state.own."{name}"')
        con.execute(f"delete from state.build.records where name = {quoted(name)}")
    return {}


def made(con: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> dict[str, Any]:
    """Make a table, whole or for what was touched; look at it, and put it in place only if it is right."""
    own, fresh = f'state.own."{request["name"]}"', f'state.fresh."{request["name"]}"'
    touched, gone, known = request["touched"], request["gone"], request["known"]
    sample = request.get("sample", "")
    con.execute("create or replace temp table touched as " + (touched or sample or "select null as key"))
    show(con, request["reads"], limited=bool(touched or sample))
    con.execute(f"create or replace table {fresh} as {request['sql']}")
    columns = [[row[0], row[1]] for row in con.execute(f"describe {fresh}").fetchall()]
    if touched and columns != known["columns"]:
        raise BrokenError("its columns are others than before, with the same text")
    whole = f"(from {own} as t where not ({gone}) union all from {fresh})" if touched else f"(from {fresh})"
    if request["trial"] and not touched:
        try_alone(con, request, fresh)
    found = judged(con, request, dict(columns), whole)
    changed = not known or columns != known["columns"]
    if not changed:
        changed = differ(con, f"(from {own} as t where {gone})" if touched else f"(from {own})", f"(from {fresh})")
    record: dict[str, Any] = request["record"] | {"columns": columns, "rows": one(con, f"select count(*) from {whole}")}
    record |= {"version": request["version"] if changed else known["version"], "warnings": found}
    con.execute("begin")
    if changed and touched:
        con.execute(f"delete from {own} as t where {gone}")
        con.execute(f"insert into {own} from {fresh}")
    elif changed:
        con.execute(f"create or replace table {own} as from {fresh}")
    con.execute(f"drop table {fresh}")
    name = quoted(request["name"])  # no parameters: DuckDB imports pandas to bind one
    con.execute(f"delete from state.build.records where name = {name}")
    con.execute(f"insert into state.build.records values ({name}, {quoted(json.dumps(record))})")
    con.execute("commit")
    return record


def show(con: duckdb.DuckDBPyConnection, reads: dict[str, str], *, limited: bool) -> None:
    """Show the tables that a select reads under their names, all of their rows or those that were touched."""
    for name, condition in reads.items():
        source = f"state.{name}" if name.startswith("own.") else f"release.{name}"
        where = f" as t where {condition}" if condition and limited else ""
        con.execute(f"create or replace view memory.{name} as from {source}{where}")


def try_alone(con: duckdb.DuckDBPyConnection, request: dict[str, Any], fresh: str) -> None:
    """Make a few days or orders alone, and compare them with the whole: a scope that is not true is refused."""
    key = request["key"]
    ends = con.execute(f"select min({key}), max({key}), median({key}) from {fresh}").fetchone() or ()
    for value in {each for each in ends if each is not None}:
        con.execute(f"create or replace temp table touched as select cast(? as {request['trial']}) as key", [value])
        show(con, request["reads"], limited=True)
        if differ(con, f"({request['sql']})", f"(from {fresh} where {key} in (select key from touched))"):
            raise BrokenError("scope: rows made for one day or order alone differ from those made whole: leave it out")


def judged(
    con: duckdb.DuckDBPyConnection, request: dict[str, Any], types: dict[str, str], whole: str
) -> dict[str, int]:
    """Raise BrokenError unless rows are as the head says and no blocking check finds any; return the warnings."""
    as_declared(request, types)
    for claim, condition in request["claims"]:
        if count := int(one(con, f"select count(*) from {whole} as t where {condition}")):
            raise BrokenError(f"{claim} in {count:,} rows")
    if request["keys"]:
        key = ", ".join(f'"{name}"' for name in request["keys"])
        if one(con, f"select count(*) from (select 1 from {whole} as t group by {key} having count(*) > 1)"):
            raise BrokenError(f"its key ({key}) is not unique")
    found = {}
    con.execute(f'create or replace view memory.own."{request["name"]}" as {whole[1:-1]}')
    for check in request["checks"]:
        others = {name: days for name, days in check["reads"].items() if name != f"own.{request['name']}"}
        show(con, others, limited="sample" in request)
        if count := int(one(con, f"select count(*) from ({check['sql']}) as t")):
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
    if missing := [name for name in request["keys"] if name not in types]:
        raise BrokenError(f"{missing[0]} of the key is no column")


def differ(con: duckdb.DuckDBPyConnection, left: str, right: str) -> bool:
    """Tell whether two relations of the same columns hold other rows; their order does not matter."""
    sums = con.execute(
        f"select count(*), sum(hash(t)) from {left} as t union all select count(*), sum(hash(t)) from {right} as t"
    ).fetchall()
    if sums[0] != sums[1]:
        return True
    return bool(con.execute(f"select 1 from (from {left} except all from {right}) limit 1").fetchall())


def one(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """Return the single value of a select."""
    return (con.execute(sql).fetchone() or (0,))[0]


def quoted(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
