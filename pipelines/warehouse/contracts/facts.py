"""What a contract says, as plain data: all that a run needs of it while every row keeps it.

Knows nothing of Pandera, whose import takes longer than most builds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from pipelines.settings.kinds import ENTITIES, WHOLE_KINDS

Scope = Literal["order", "comparison", "customer", "menu", "store", "day", "month", "load", "check", "all"]
"""What part of a table an increment recomputes: the rows of the affected orders (orders compared with them, customers,
menus, stores, business days, months of business days, loads, checks), or all of them."""

SCOPE_KEYS: dict[str, str] = {
    "order": "order_id",
    "comparison": "order_id",
    "customer": "customer_key",
    **{ENTITIES[kind]: f"{ENTITIES[kind]}_id" for kind in WHOLE_KINDS},
    "day": "business_date",
    "month": "business_month",
    "load": "load_id",
}

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


@dataclass(frozen=True)
class Column:
    """One column as every reader of a contract wants it: `type` is DuckDB's name of the type.

    A text of which the contract lists the words (isin) is an ENUM of them, in the order of the alphabet: DuckDB sorts
    and compares an ENUM by the place of its words, and so finds what it would find of texts.
    """

    name: str
    type: str
    nullable: bool
    description: str
    adds_up: bool = True


@dataclass(frozen=True)
class ComparisonScope:
    """Which orders are compared with each other: those that share `columns` and lie close in time by `clock`.

    All are columns of one table that is read; an order without one of them is compared with none. `minutes` is the
    column of raw.settings that says what is close.
    """

    columns: tuple[str, ...]
    clock: str
    minutes: str


@dataclass(frozen=True)
class Grain:
    """What a row of the table is: `key` names the columns of its key, () if it has none.

    `span` names the columns from which on and until when a row holds: who reads it for an order looks at the rows that
    held when the order was created. Null is without end; "" where rows hold for good.

    `comparison_scope` is for a table of scope comparison, whose rows compare orders with each other. `is_released` is
    false for a step: a table that other tables are made from, and that no release holds.
    """

    table: str
    scope: Scope
    key: tuple[str, ...]
    span: tuple[str, str] | None = None
    comparison_scope: ComparisonScope | None = None
    is_released: bool = True


@dataclass(frozen=True)
class Doubt:
    """A column of which the contract claims something, and the condition in SQL under which a row may not keep it.

    `of_typed` is the same for a column of listed words that has their type, which holds them; "" where nothing is left
    to doubt.
    """

    column: str
    of_texts: str
    of_typed: str


@dataclass(frozen=True, eq=False)
class Facts:
    """The contract of one table: its grain, its docstring, its columns in order, and what its rows are held to."""

    grain: Grain
    about: str
    columns: tuple[Column, ...]
    doubts: tuple[Doubt, ...]
