"""What a contract says, as plain data: all that a run needs of it while every row keeps it.

A contract is the head of a table's SQL file (`head.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from pipelines.literals import literals
from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS

SCOPE_KEYS: dict[str, str] = {
    "order": "order_id",
    "comparison": "order_id",
    "customer": "customer_key",
    **{ENTITIES[kind]: f"{ENTITIES[kind]}_id" for kind in WHOLE_KINDS},
    "day": "business_date",
    "load": "load_id",
}
SCOPES = (*SCOPE_KEYS, "check", "all")
"""What part of a table an increment recomputes: the rows of the affected orders (orders compared with them, customers,
menus, stores, business days, loads, checks), or all of them."""

ARROW_TYPES: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "DECIMAL(18,4)": pa.decimal128(18, 4),
    "DECIMAL(38,4)": pa.decimal128(38, 4),
    "DECIMAL(38,8)": pa.decimal128(38, 8),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP": pa.timestamp("us"),
    "DATE": pa.date32(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "BIGINT[]": pa.list_(pa.int64()),
    "DECIMAL(38,4)[]": pa.list_(pa.decimal128(38, 4)),
    "VARCHAR[]": pa.list_(pa.string()),
}
"""The Arrow type of each type of DuckDB that a column may have; an ENUM is a text."""


class CatalogueError(Exception):
    """A file of sql/ does not say what it must; the message names the file."""


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

    def doubt(self, *, typed: bool = True) -> str:
        """Return the condition in SQL under which a row may break the claim about the column; "" without a claim.

        A column of listed words that has their type holds them; one that is not `typed` is a text.
        """
        column = f'"{self.name}"'
        broken = {
            f"{column} < {self.least}": self.least is not None,
            f"{column} > {self.most}": self.most is not None,
            # NaN is, to DuckDB, greater than any number.
            f"isnan({column})": self.type == "DOUBLE" and (self.least, self.most) != (None, None),
            f"{column} not in ({literals(self.words)})": bool(self.words) and not typed,
            f"{column} is null": not self.nullable,
        }
        return " or ".join(condition for condition, is_claimed in broken.items() if is_claimed)


@dataclass(frozen=True)
class ComparisonScope:
    """Which orders are compared with each other: those that share `columns` and lie close in time by `clock`.

    All are columns of one table that is read; an order without one of them is compared with none. `minutes` is the
    column of raw.settings that says how close.
    """

    columns: tuple[str, ...]
    clock: str
    minutes: str


@dataclass(frozen=True)
class Contract:
    """The contract of one table: grain, source and caveats (`about`), what its rows are, and its columns in order.

    `key` names the columns of its key, () if it has none. `span` names the columns from which on and until when a row
    holds: who reads it for an order looks at the rows that held when the order was created; null is without end.
    `compares` is for a table of scope comparison. `is_released` is false for a step: a table that other tables are made
    from, and that no release holds.
    """

    about: str
    key: tuple[str, ...]
    scope: str
    span: tuple[str, ...]
    compares: ComparisonScope | None
    is_released: bool
    columns: tuple[Column, ...]
