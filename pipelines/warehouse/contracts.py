"""The contract of each table, read from the head of its SQL file, and the glossary of columns, `sql/glossary.sql`.

A contract says what a row is, what columns mean, and what must hold within the table. What needs two tables is a claim
in `sql/checks/`.

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

Then follow texts, which start with `A step: read … instead.` where no release holds the table; the facts, of which
`span: from, until` and `template:` are rare; the joins that readers may
rely on, `join table (columns): so that`, or that multiply rows, `join multiplies table …`; the checks that each row's
columns are in another table, or in no other row, `in table (columns), severity name: claim` and `unique (columns), …`:
nulls that the key does not have are left out; and one line for each column of which the glossary does not say
everything: its name, and of type, null, bounds, `not additive` and meaning what differs. An indented line goes on with
the one before.

The glossary has such lines for names that several tables have.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.landing.shape import read_sql
from pipelines.literals import literals
from pipelines.resources import resource
from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS

SCOPE_KEYS: dict[str, str] = {"order": "order_id", "customer": "customer_key"}
SCOPE_KEYS |= {ENTITIES[kind]: f"{ENTITIES[kind]}_id" for kind in WHOLE_KINDS}
SCOPE_KEYS |= {"day": "business_date", "load": "load_id"}
SCOPES = (*SCOPE_KEYS, "check", "all")
"""What part of a table an increment recomputes: the rows of the affected orders (or customers and so on), or all."""


class CatalogueError(Exception):
    """A file of sql/ does not say what it must, and the message names it; or a user's model does not, or its rows."""


@dataclass(frozen=True)
class Column:
    """One column as every reader of a contract wants it: `type` is DuckDB's name of the type.

    A text whose words are listed is an ENUM of them, in the order of the alphabet: DuckDB sorts and compares an ENUM by
    the place of its words, and so finds what it would find of texts. An average or the price of a unit is an amount
    that does not add up over rows.
    """

    name: str
    type: str
    nullable: bool
    description: str
    least: int | None = None
    most: int | None = None
    adds_up: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """The words of an ENUM; () of another type."""
        is_enum = self.type.startswith("ENUM(")
        return tuple(word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'", self.type)) if is_enum else ()

    def doubt(self) -> str:
        """Return the condition in SQL under which a row of a model breaks the claim on the column; "" for none."""
        column = f'"{self.name}"'
        broken = {
            f"{column} < {self.least}": self.least is not None,
            f"{column} > {self.most}": self.most is not None,
            # NaN is, to DuckDB, greater than any number.
            f"isnan({column})": self.type == "DOUBLE" and (self.least, self.most) != (None, None),
            f"{column} is null": not self.nullable,
        }
        return " or ".join(condition for condition, is_claimed in broken.items() if is_claimed)


@dataclass(frozen=True)
class Join:
    """A left join: every row of `left` with what `right` says of it. It `keeps` rows one for one, or adds rows."""

    left: str
    right: str
    on: tuple[str, ...]
    so_that: str
    keeps: bool


@dataclass(frozen=True)
class Contract:
    """The contract of one table: grain, source and caveats (`description`), what a row is, and its columns in order.

    `key` names the columns of its key, () if it has none. `span` names the columns from which on and until when a row
    holds: who reads it for an order looks at the rows that held when the order was created; null is without end.
    `is_released` is false for a step: a table that other tables are made from, and that no release holds.
    """

    description: str
    key: tuple[str, ...]
    scope: str
    span: tuple[str, ...]
    is_released: bool
    columns: tuple[Column, ...]


_COLUMN = re.compile(
    r"(?P<name>\w+)"
    r"(?: (?P<type>[A-Z]+(?: WITH TIME ZONE)?(?:\([^)]*\))?(?:\[\])?))?"
    r"(?: (?P<null>null|not null))?"
    r"(?P<bounds>(?: >= (?P<least>-?\d+))?(?: <= (?P<most>-?\d+))?)"
    r"(?P<not_additive> not additive)?"
    r"(?:: (?P<meaning>.+))?"
)
CLAIM = re.compile(
    r"(?:in (?P<other>[\w.]+)|unique) \((?P<columns>[\w, ]+)\), (?P<severity>blocking|warning) (?P<name>\w+)"
)
_NAMED = "key|scope|span|template|gathered from(?: [\\w.]+)?|join(?: multiplies)? [^:]+|(?:in|unique) [^:]+"
_FACT = re.compile(f"({_NAMED}): (.+)")
_JOIN = re.compile(r"join( multiplies)? ([\w.]+) \(([\w, ]+)\)")


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
class TableHead:
    """The content of a file's head: grain, source and caveats, the facts by name, and of columns what it names."""

    about: str
    facts: Mapping[str, str]
    said: tuple[Said, ...]

    def names(self, fact: str) -> tuple[str, ...]:
        """Return the names that a fact lists; () without it."""
        return tuple(re.findall(r"[^\s,]+", self.facts.get(fact, "")))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key; () if there is none."""
        return () if self.facts.get("key") == "none" else self.names("key")

    @property
    def scope(self) -> str:
        """What part of the table is made again."""
        return self.facts.get("scope", "all")


@functools.cache
def glossary() -> dict[str, Said]:
    """Return what `sql/glossary.sql` says of each name."""
    *_, columns = _paragraphs(read_sql(resource("sql") / "glossary.sql"))
    return {each.name: each for each in map(_said, columns)}


def head_of(sql: str) -> TableHead:
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
    return TableHead("\n\n".join(about), facts, tuple(said))


def joins_of(name: str, head: TableHead) -> Iterator[Join]:
    """Yield the joins from a table that its head names.

    A join keeps rows one for one because its columns hold the whole key of the right table. Facts are joined to what
    they are about, never to each other: an order's money beside its lines adds up to too much.
    """
    for fact, so_that in head.facts.items():
        if found := _JOIN.fullmatch(fact):
            yield Join(name, found[2], tuple(found[3].split(", ")), so_that, keeps=not found[1])


def contract_of(head: TableHead, names: Sequence[str]) -> Contract:
    """Return the contract of a table whose select gives columns of these names; without any, the head lists them all.

    Raise CatalogueError where one has no type or meaning, or the head names one that is not there, or in another order.
    """
    said = {each.name: each for each in head.said}
    names = names or list(said)
    if strange := [name for name in said if name not in names]:
        raise CatalogueError(f"the head names {strange[0]}, which the select does not give")
    if list(said) != [name for name in names if name in said]:
        raise CatalogueError("the head names columns in another order than the select")
    if strange := [name for name in (*head.key, *head.names("span")) if name not in names]:
        raise CatalogueError(f"the key or the span names {strange[0]}, which is not a column")
    if head.scope not in SCOPES:
        raise CatalogueError(f"scope {head.scope} is none of {', '.join(SCOPES)}")
    columns, is_released = tuple(_column(name, said.get(name)) for name in names), "\nA step: read " not in head.about
    return Contract(head.about, head.key, head.scope, head.names("span"), is_released, columns)


def _column(name: str, own: Said | None) -> Column:
    """Return a column: what a table says of it, and for the rest the glossary's words on its name."""
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
    least, most = (None if part[which] is None else int(part[which]) for which in ("least", "most"))
    bounds = (least, most) if part["bounds"] else None
    kind, nullable = _type(part["type"]) if part["type"] else None, part["null"] == "null" if part["null"] else None
    return Said(part["name"], kind, nullable, bounds, False if part["not_additive"] else None, part["meaning"])


def _type(spelled: str) -> str:
    """Return a type as DuckDB names it; the words of an ENUM in the order of the alphabet."""
    if spelled.startswith("ENUM("):
        words = sorted(re.findall(r"'([^']*)'", spelled))
        return f"ENUM({literals(words)})"
    return "TIMESTAMP WITH TIME ZONE" if spelled == "TIMESTAMPTZ" else spelled


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
