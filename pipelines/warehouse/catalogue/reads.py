"""Read from a select which tables and columns it reads, and which columns it gives.

A row that is given whole to a function of `sql/functions/` is read by the names in that function; one that is used
whole in any other way is read with all of its columns.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from pipelines.landing.charges import read_sql
from pipelines.literals import literal
from pipelines.resources import fingerprint, keep, read_kept, resource
from pipelines.warehouse.contracts import CatalogueError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Reads:
    """What a select reads: tables with a schema, and a superset of the columns it names.

    `stars` are the tables of which it takes all columns. `columns` are those that it gives, by name; () where its text
    does not name each.
    """

    tables: tuple[str, ...]
    names: frozenset[str]
    stars: frozenset[str]
    columns: tuple[str, ...] = ()


class _Kept(dict[str, Reads]):
    """What selects read, by their hash, as kept on disk for this DuckDB and this code."""

    def __init__(self) -> None:
        self.of = fingerprint(duckdb.__version__, Path(__file__), *_functions().values())
        self.is_new = False
        with contextlib.suppress(msgspec.DecodeError):
            super().__init__(msgspec.json.decode(read_kept("reads", self.of) or b"{}", type=dict[str, Reads]))


@functools.cache
def _kept() -> _Kept:
    return _Kept()


def keep_reads() -> None:
    """Keep on disk what selects read, if any of them was not kept yet: parsing all of them takes most of a second."""
    if _kept().is_new:
        keep("reads", _kept().of, msgspec.json.encode(dict(_kept())))
        _kept().is_new = False


@functools.cache
def reads(sql: str) -> Reads:
    """Return what a select reads."""
    of = hashlib.sha256(sql.encode()).hexdigest()
    if of not in _kept():
        _kept()[of] = _parsed(sql)
        _kept().is_new = True
    return _kept()[of]


def _parsed(sql: str) -> Reads:
    tree = tree_of(sql)
    nodes = list(dicts(tree))
    base = [n for n in nodes if n.get("type") == "BASE_TABLE" and n.get("schema_name")]
    called = [n for n in nodes if n.get("class") == "FUNCTION" and n["function_name"] in _functions()]
    # DuckDB 2 names arguments otherwise, and wraps each
    wrapped = [each["expression"] for call in called for each in call.get("arguments", ())]
    given = {id(each) for each in (*wrapped, *(each for call in called for each in call.get("children", ())))}
    whole = {
        id(each) for select in nodes if select.get("type") == "SELECT_NODE" for each in _whole(select, base, given)
    }
    has_pivot = any(n.get("type") == "PIVOT" for n in nodes)  # groups by whatever columns there are
    return Reads(
        tables=tuple(sorted({_name(n) for n in base})),
        names=frozenset(_strings(tree)).union(*(_names_in_function(each["function_name"]) for each in called)),
        stars=frozenset(_name(n) for n in base if has_pivot or id(n) in whole),
        columns=_given(tree["statements"][0]["node"]),
    )


def _given(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the columns that a select gives; () where its text does not name each."""
    while node["type"] == "SET_OPERATION_NODE":
        node = node["left"] or node["children"][0]  # children: from DuckDB 2.0 on
    items = node.get("select_list", [])
    if len(items) == 1 and items[0]["class"] == "STAR" and node["from_table"]["type"] == "SUBQUERY":
        subquery = node["from_table"]["subquery"]
        return _given(subquery.get("node") or subquery)
    names = [each["alias"] or (each["column_names"][-1] if each["class"] == "COLUMN_REF" else "") for each in items]
    return tuple(names) if all(names) else ()


def _whole(select: dict[str, Any], base: list[dict[str, Any]], given: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the tables, each a node, of which a select by itself takes all columns, or rows as they are.

    `base` are the tables of the whole statement, `given` the ids of nodes that are rows given to functions.
    """
    scope = list(within(select))
    from_here = [n for n in scope if n.get("type") in ("BASE_TABLE", "SUBQUERY")]
    here, ids = {_alias(n) for n in from_here}, {id(n) for n in from_here}
    named = {n["relation_name"] for n in scope if n.get("class") == "STAR"}
    lone = [n["column_names"] for n in scope if n.get("class") == "COLUMN_REF" and id(n) not in given]
    named |= {names[0] for names in lone if len(names) == 1}
    for table in base:
        if id(table) in ids:
            if named & {"", _alias(table)}:
                yield table
        elif _alias(table) in named - here:  # of a select around this one
            yield table


@functools.cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@functools.cache
def functions_of(condition: str) -> frozenset[str]:
    """Return the names of DuckDB's functions under a condition."""
    found = _parser().cursor().execute(f"select distinct function_name from duckdb_functions() where {condition}")
    return frozenset(str(row[0]) for row in found.fetchall())


@functools.cache
def _functions() -> dict[str, Path]:
    """Return the file of each function of a build, by its name."""
    return {path.stem: path for path in sorted((resource("sql") / "functions").glob("*.sql"))}


@functools.cache
def _names_in_function(name: str) -> frozenset[str]:
    tree = tree_of(f"select {read_sql(_functions()[name])}")
    called = {n["function_name"] for n in dicts(tree) if n.get("class") == "FUNCTION"} & _functions().keys() - {name}
    return frozenset(_strings(tree)).union(*(_names_in_function(each) for each in called))


def tree_of(sql: str) -> dict[str, Any]:
    """Return a select as DuckDB parses it; raise CatalogueError unless it is one."""
    # no parameter: DuckDB imports pandas to bind one, which takes longer than all else here
    row = _parser().cursor().execute(f"select json_serialize_sql({literal(sql)})").fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        place = str(tree.get("position", ""))
        line = f" (line {sql.count(chr(10), 0, int(place)) + 1})" if place.isdigit() else ""
        raise CatalogueError(f"not one select: {tree.get('error_message', '')}{line}")
    return tree


def _alias(node: dict[str, Any]) -> str:
    return str(node["alias"] or node.get("table_name", ""))


def within(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a select that are in none of its inner selects."""
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, dict) and value.get("type") != "SELECT_NODE":
            yield value
            yield from within(value)
        elif isinstance(value, list):
            yield from within(value)


def _name(node: dict[str, Any]) -> str:
    return f"{node['schema_name']}.{node['table_name']}"


def dicts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from dicts(value)


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for value in values:
        yield from _strings(value)
