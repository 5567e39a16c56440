"""Read the contract that stands at the head of a table's SQL file, and the glossary of columns, `sql/glossary.sql`.

The head is the comment that a file starts with. Only its first paragraph, the grain, is required:

    -- One row per store and hour.
    --
    -- Source: mart.orders.
    -- Caveats: an hour without orders has no row.
    --
    -- key: store_id, hour
    -- scope: day
    --
    -- hour BIGINT null >= 0 <= 23: The hour of the day, in the store's time zone.
    -- order_count >= 1

Then follow texts; the facts, of which `span: from, until`, `compares: columns by clock within minutes`, `template:` and
`released: no` are rare; and one line for each column of which the glossary does not say everything: its name, and of
type, null, bounds, `not additive` and meaning what differs. An indented line goes on with the one before.

The glossary has such lines for names that several tables have.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.landing.charges import read_sql
from pipelines.literals import literals
from pipelines.resources import resource
from pipelines.warehouse.contracts.contract import SCOPES, CatalogueError, Column, ComparisonScope, Contract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COLUMN = re.compile(
    r"(?P<name>\w+)"
    r"(?: (?P<type>[A-Z]+(?: WITH TIME ZONE)?(?:\([^)]*\))?(?:\[\])?))?"
    r"(?: (?P<null>null|not null))?"
    r"(?P<bounds>(?: >= (?P<least>-?\d+))?(?: <= (?P<most>-?\d+))?)"
    r"(?P<not_additive> not additive)?"
    r"(?:: (?P<meaning>.+))?"
)
_FACT = re.compile(r"(key|scope|span|compares|released|template|gathered from(?: [\w.]+)?): (.+)")
_COMPARES = re.compile(r"(.+) by (\w+) within (\w+)")


@dataclass(frozen=True)
class Said:
    """What one line says of a column; None: nothing."""

    name: str
    type: str | None = None
    nullable: bool | None = None
    bounds: tuple[int | None, int | None] | None = None
    adds_up: bool | None = None
    meaning: str | None = None


@dataclass(frozen=True)
class Head:
    """The content of a file's head: grain, source and caveats, the facts by name, and of columns what it names."""

    about: str
    facts: Mapping[str, str]
    said: tuple[Said, ...]

    def names(self, fact: str) -> tuple[str, ...]:
        """Return the names that a fact lists; () without it."""
        return tuple(re.findall(r"[^\s,]+", self.facts.get(fact, "")))


@functools.cache
def glossary() -> dict[str, Said]:
    """Return what `sql/glossary.sql` says of each name."""
    text = read_sql(resource("sql") / "glossary.sql")
    *_, columns = _paragraphs(text)
    return {each.name: each for each in map(_said, columns)}


def head_of(sql: str) -> Head:
    """Return what a file's head says. Raise CatalogueError where a line is none of those that a head has."""
    about: list[str] = []
    facts: dict[str, str] = {}
    said: list[Said] = []
    for lines in _paragraphs(sql):
        if _FACT.fullmatch(lines[0]):
            for line in lines:
                if not (fact := _FACT.fullmatch(line)):
                    raise CatalogueError(f"no fact of a table: {line!r}")
                facts[fact[1]] = fact[2]
        elif facts or said or (about and lines[0][0].islower() and _COLUMN.fullmatch(lines[0])):
            said += map(_said, lines)
        else:
            about.append("\n".join(lines))
    if not about:
        raise CatalogueError("the first line must state the grain: `-- One row per …`")
    return Head("\n\n".join(about), facts, tuple(said))


def contract_of(head: Head, names: Sequence[str]) -> Contract:
    """Return the contract of a table whose select gives columns of these names; without any, the head lists them all.

    Raise CatalogueError where a column has no type or meaning, or the head names one that is not there, or in another
    order.
    """
    said = {each.name: each for each in head.said}
    names = names or list(said)
    if strange := [name for name in said if name not in names]:
        raise CatalogueError(f"the head names {strange[0]}, which the select does not give")
    if list(said) != [name for name in names if name in said]:
        raise CatalogueError("the head names columns in another order than the select")
    key = () if head.facts.get("key") == "none" else head.names("key")
    if strange := [name for name in (*key, *head.names("span")) if name not in names]:
        raise CatalogueError(f"{strange[0]} of the key, or the span, is no column")
    scope = head.facts.get("scope", "all")
    if scope not in SCOPES:
        raise CatalogueError(f"scope {scope} is none of {', '.join(SCOPES)}")
    compares = _COMPARES.fullmatch(head.facts.get("compares", ""))
    return Contract(
        about=head.about,
        key=key,
        scope=scope,
        span=head.names("span"),
        compares=ComparisonScope(tuple(compares[1].split(", ")), compares[2], compares[3]) if compares else None,
        is_released=head.facts.get("released") != "no",
        columns=tuple(_column(name, said.get(name)) for name in names),
    )


def _column(name: str, own: Said | None) -> Column:
    """Return a column: what a table says of it, and for the rest what the glossary says of its name."""
    found: dict[str, Any] = {"nullable": False, "bounds": (None, None), "adds_up": True}
    for each in (glossary().get(name), own):
        found |= {fact: value for fact, value in vars(each or Said(name)).items() if value is not None}
    if missing := [fact for fact in ("type", "meaning") if fact not in found]:
        raise CatalogueError(f"column {name} has no {missing[0]}, neither in the head nor in sql/glossary.sql")
    least, most = found["bounds"]
    return Column(name, found["type"], found["nullable"], found["meaning"], least, most, found["adds_up"])


def _said(line: str) -> Said:
    part = _COLUMN.fullmatch(line)
    if not part:
        raise CatalogueError(f"no line of a column (name TYPE null >= 0: meaning): {line!r}")
    return Said(
        part["name"],
        _type(part["type"]) if part["type"] else None,
        part["null"] == "null" if part["null"] else None,
        (_number(part["least"]), _number(part["most"])) if part["bounds"] else None,
        False if part["not_additive"] else None,
        part["meaning"],
    )


def _type(spelled: str) -> str:
    """Return a type as DuckDB names it; the words of an ENUM in the order of the alphabet."""
    if spelled.startswith("ENUM("):
        words = sorted(re.findall(r"'([^']*)'", spelled))
        return f"ENUM({literals(words)})"
    return "TIMESTAMP WITH TIME ZONE" if spelled == "TIMESTAMPTZ" else spelled


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _paragraphs(sql: str) -> list[list[str]]:
    """Return the paragraphs of the comment that a text starts with, each as lines; an indented one is joined."""
    found: list[list[str]] = [[]]
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        text = line[2:].removeprefix(" ")
        if text.startswith(" ") and found[-1]:
            found[-1][-1] += " " + text.strip()
        elif text:
            found[-1].append(text)
        else:
            found.append([])
    return [lines for lines in found if lines]
