"""Say in facts what a database publishes, and keep facts in a text file.

A fact is a value of an aspect of an item: of `mart.orders` its rows, key and comment, of `mart.orders.tip` its type,
comment and values. Values and comments are hashes.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.unchanged.hashed import as_text, hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection as Connection

Facts = dict[str, dict[str, str]]  # by item and aspect
HERE = Path(__file__).parent
LEFT_OUT = HERE / "left_out.txt"
SCHEMAS = ("core", "mart", "audit", "workings", "meta", "ref")
BLOCK = "  | "  # begins a line of a text of several lines


class LeftOut(NamedTuple):
    """Values of a part that a run decides: of which columns or tables, how they are compared, and why."""

    part: str
    pattern: str
    how: str
    reason: str


EXACTLY, BY_HOUR, NOT_AT_ALL = "exactly", "by the hour", "not at all"


def left_out() -> list[LeftOut]:
    """Return what left_out.txt declares; the first line that fits a column counts."""
    found = [LeftOut(*line.split(" | ")) for line in declared(LEFT_OUT)]
    if unknown := {each.how for each in found} - {EXACTLY, BY_HOUR, NOT_AT_ALL}:
        raise ValueError(f"{LEFT_OUT.name}: {unknown}")
    return found


def declared(file: Path) -> list[str]:
    """Return the lines of a file that are no comments."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def facts_of(con: Connection, part: str) -> Facts:
    """Return the facts of the published tables of a database, values as left_out.txt says of the part."""
    con.execute("set timezone = 'UTC'")
    keys = _keys(con)
    listed = con.execute(
        "select schema_name || '.' || table_name, comment from duckdb_tables() "
        "where schema_name in (select unnest(?)) and not temporary order by all",
        [list(SCHEMAS)],
    ).fetchall()
    listed_columns = con.execute(
        "select schema_name || '.' || table_name, column_name, data_type, comment from duckdb_columns() "
        "where not internal order by schema_name, table_name, column_index"
    ).fetchall()
    exceptions = [each for each in left_out() if fnmatch.fnmatchcase(part, each.part)]
    found: Facts = {}
    for name, comment in listed:
        columns = [(column, kind, said) for table, column, kind, said in listed_columns if table == name]
        how = [_how(f"{name}.{column}", exceptions) for column, *_ in columns]
        rows = con.execute("from {}.{}".format(*map(_quoted, name.split(".", 1)))).fetchall()
        key = keys.get(name, [])
        counted = "left out" if _how(name, exceptions) == NOT_AT_ALL else str(len(rows))
        found[name] = {"rows": counted, "key": ",".join(key) or "none", "comment": hash_of(str(comment))}
        ordering = [place for place, (column, *_) in enumerate(columns) if column in key and how[place] != NOT_AT_ALL]
        for place, (column, kind, said) in enumerate(columns):
            beside = [(each, how[each]) for each in (*ordering, place)]
            found[f"{name}.{column}"] = {
                "type": re.sub(r"ENUM\(.*\)", "ENUM", kind),
                "comment": hash_of(str(said)),
                "values": "left out" if how[place] == NOT_AT_ALL else _values(rows, beside),
            }
    return found


def _keys(con: Connection) -> dict[str, list[str]]:
    """Return the key of each table, as the release says it."""
    there = "select count(*) from duckdb_tables() where schema_name = 'meta' and table_name = 'tables'"
    if con.execute(there).fetchall() == [(0,)]:
        return {}
    return dict(con.execute("select table_name, key_columns from meta.tables").fetchall())


def _quoted(name: str) -> str:
    return f'"{name}"'


def _how(name: str, exceptions: Iterable[LeftOut]) -> str:
    return next((each.how for each in exceptions if fnmatch.fnmatchcase(name, each.pattern)), EXACTLY)


def _values(rows: Iterable[Sequence[Any]], places: Sequence[tuple[int, str]]) -> str:
    """Hash a column beside the key of its rows, so that no other column matters."""
    return hash_of("\n".join(sorted("\0".join(_text(row[place], how) for place, how in places) for row in rows)))


def _text(value: Any, how: str) -> str:
    return as_text(value)[:13] if how == BY_HOUR and isinstance(value, dt.datetime) else as_text(value)


def written(facts: Facts) -> str:
    """Return the text of a file of these facts."""
    lines = []
    for item, aspects in facts.items():
        short = {aspect: text for aspect, text in aspects.items() if "\n" not in text}
        lines.append("  ".join([item, *(f"{aspect}={text}" for aspect, text in short.items())]))
        for aspect, text in aspects.items():
            if aspect not in short:
                lines += [f"{BLOCK}{aspect}", *(f"{BLOCK}{BLOCK}{line}".rstrip() for line in text.split("\n"))]
    return "\n".join([*lines, ""])


def read(text: str) -> Facts:
    """Return the facts of such a text."""
    facts: Facts = {}
    item = aspect = ""
    for line in text.splitlines():
        if line.startswith((BLOCK + BLOCK).rstrip()):
            so_far = facts[item].get(aspect)
            said = line.removeprefix((BLOCK + BLOCK).rstrip()).removeprefix(" ")
            facts[item][aspect] = said if so_far is None else f"{so_far}\n{said}"
        elif line.startswith(BLOCK):
            aspect = line.removeprefix(BLOCK)
        else:
            item, *rest = line.split("  ")
            facts[item] = dict(each.split("=", 1) for each in rest)
    return facts
