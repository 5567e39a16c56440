"""Columns whose words a contract lists: an ENUM in every table, a text wherever a select says or compares them.

An ENUM is written in a tenth of the time that a text takes, is compared and grouped in half, and its type names its
words; `contracts/contract.py` says in which order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.warehouse.catalogue.tables import Table

_ENUM = "ENUM("


def is_enum_type(kind: str) -> bool:
    """Return whether a type, as DuckDB spells it, is one of listed words."""
    return kind.startswith(_ENUM)


def may_become(found: str, declared: str) -> bool:
    """Return whether a select's column fits a declared type: the same type, or a text for an ENUM."""
    return found == declared or (found == "VARCHAR" and is_enum_type(declared))


def typed(table: Table) -> str:
    """Return the select of a table with its words as the types that its contract declares."""
    casts = [
        f'cast("{column.name}" as {column.type}) as "{column.name}"'
        for column in table.columns
        if is_enum_type(column.type)
    ]
    return f"select * replace ({', '.join(casts)}) from ({table.sql}\n)" if casts else table.sql


def as_texts(table: Table, names: Iterable[str]) -> str:
    """Return the list of some columns of a table, for a select that gives words as texts."""
    of_words = {column.name for column in table.columns if is_enum_type(column.type)}
    return ", ".join(f'cast("{name}" as varchar) as "{name}"' if name in of_words else f'"{name}"' for name in names)
