"""What every table's contract is made of: columns with a type, a meaning and its checks, a key and a scope.

A contract is a Pandera model on Arrow types. Its docstring starts with the grain, then the source, then the caveats.
The same class checks the rows, comments the release's columns, fills the dictionary and gives the asset's column
schema. Knows nothing of SQL files, of connections or of how a table is built.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import pandas as pd
import pandera.pandas as pandera
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

Id = Annotated[pd.ArrowDtype, pa.int64()]
Count = Annotated[pd.ArrowDtype, pa.int64()]
Text = Annotated[pd.ArrowDtype, pa.string()]
Money = Annotated[pd.ArrowDtype, pa.decimal128(18, 4)]
# Below ten billion: five of them, added up, still stay within the 18 digits that are fast.
SmallMoney = Annotated[pd.ArrowDtype, pa.decimal128(14, 4)]
# Sums and differences are wider than what they are made of: one hostile amount must not stop a night.
Amount = Annotated[pd.ArrowDtype, pa.decimal128(38, 4)]
# A share of an amount: four decimals more than either.
Product = Annotated[pd.ArrowDtype, pa.decimal128(38, 8)]
Units = Annotated[pd.ArrowDtype, pa.decimal128(38, 0)]
Instant = Annotated[pd.ArrowDtype, pa.timestamp("us", tz="UTC")]
LocalTime = Annotated[pd.ArrowDtype, pa.timestamp("us")]
Day = Annotated[pd.ArrowDtype, pa.date32()]
Flag = Annotated[pd.ArrowDtype, pa.bool_()]
Share = Annotated[pd.ArrowDtype, pa.float64()]
Ids = Annotated[pd.ArrowDtype, pa.list_(pa.int64())]
Moneys = Annotated[pd.ArrowDtype, pa.list_(pa.decimal128(18, 4))]
Amounts = Annotated[pd.ArrowDtype, pa.list_(pa.decimal128(38, 4))]
Texts = Annotated[pd.ArrowDtype, pa.list_(pa.string())]

_DUCKDB_TYPES: dict[Any, str] = {
    pa.int64(): "BIGINT",
    pa.string(): "VARCHAR",
    pa.decimal128(14, 4): "DECIMAL(14,4)",
    pa.decimal128(18, 4): "DECIMAL(18,4)",
    pa.decimal128(38, 4): "DECIMAL(38,4)",
    pa.decimal128(38, 8): "DECIMAL(38,8)",
    pa.decimal128(38, 0): "DECIMAL(38,0)",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.date32(): "DATE",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.list_(pa.int64()): "BIGINT[]",
    pa.list_(pa.decimal128(18, 4)): "DECIMAL(18,4)[]",
    pa.list_(pa.decimal128(38, 4)): "DECIMAL(38,4)[]",
    pa.list_(pa.string()): "VARCHAR[]",
}
ARROW_TYPES: dict[str, pa.DataType] = {name: kind for kind, name in _DUCKDB_TYPES.items()}
"""The Arrow type of each type of DuckDB that a column may have; an ENUM is a text."""


def column(
    meaning: str, *, named: str | None = None, nullable: bool = False, adds_up: bool = True, **checks: Any
) -> Any:
    """Declare a column: what it means, whether the interface lets it be null, and Pandera's checks (ge=0, isin=…).

    `named` is for names that start with an underscore, which Pandera does not take for fields. An average or the price
    of a unit is an amount that does not add up over rows.
    """
    return pandera.Field(description=meaning, alias=named, nullable=nullable, metadata={"adds_up": adds_up}, **checks)


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


class Contract(pandera.DataFrameModel):
    """The contract of one table: `class Orders(Contract, table="core.orders", scope="order", key=("order_id",))`."""

    # Pandera takes every name without an underscore for a column.
    _grain: ClassVar[Grain]

    class Config:
        """Columns exactly as declared, in that order, never coerced."""

        strict = True
        ordered = True
        coerce = False

    def __init_subclass__(
        cls,
        *,
        table: str,
        scope: Scope,
        key: tuple[str, ...],
        span: tuple[str, str] | None = None,
        comparison_scope: ComparisonScope | None = None,
        is_released: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)  # type: ignore[no-untyped-call]
        cls._grain = Grain(table, scope, key, span, comparison_scope, is_released)

    @classmethod
    def grain(cls) -> Grain:
        """Return what a row of the table is."""
        return cls._grain

    @classmethod
    @functools.cache
    def about(cls) -> str:
        """Return the docstring, unwrapped: grain, source, caveats."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    @functools.cache
    def columns(cls) -> tuple[Column, ...]:
        """Return the columns in order."""
        schema = cls.to_schema()
        return tuple(
            Column(
                name=cast("str", name),
                type=_type(_DUCKDB_TYPES[each.dtype.type.pyarrow_dtype], each.checks),
                nullable=each.nullable,
                description=each.description or "",
                adds_up=(each.metadata or {}).get("adds_up", True),
            )
            for name, each in schema.columns.items()
        )


def _type(kind: str, checks: list[pandera.Check]) -> str:
    """Return the type of a column, given that of its values."""
    for check in checks:
        if kind == "VARCHAR" and check.name == "isin":
            words = sorted((check.statistics or {})["allowed_values"])
            quoted = ("'" + word.replace("'", "''") + "'" for word in words)
            return f"ENUM({', '.join(quoted)})"
    return kind
