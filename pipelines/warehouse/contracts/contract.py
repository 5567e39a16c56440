"""What every table's contract is made of: columns with a type, a meaning and its checks, a key and a scope.

A contract is a Pandera model on Arrow types. Its docstring starts with the grain, then the source, then the caveats.
The same class checks the rows, comments the release's columns, fills the dictionary and gives the asset's column
schema. Knows nothing of SQL files, of connections or of how a table is built.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa

from pipelines.literals import literals
from pipelines.warehouse.contracts.facts import ARROW_TYPES, Column, ComparisonScope, Doubt, Facts, Grain, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

Id = Annotated[pd.ArrowDtype, pa.int64()]
Count = Annotated[pd.ArrowDtype, pa.int64()]
Text = Annotated[pd.ArrowDtype, pa.string()]
Money = Annotated[pd.ArrowDtype, pa.decimal128(18, 4)]
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
Amounts = Annotated[pd.ArrowDtype, pa.list_(pa.decimal128(38, 4))]
Texts = Annotated[pd.ArrowDtype, pa.list_(pa.string())]

_DUCKDB_TYPES: dict[Any, str] = {kind: name for name, kind in ARROW_TYPES.items()}


def column(
    meaning: str, *, named: str | None = None, nullable: bool = False, adds_up: bool = True, **checks: Any
) -> Any:
    """Declare a column: what it means, whether the interface lets it be null, and Pandera's checks (ge=0, isin=…).

    `named` is for names that start with an underscore, which Pandera does not take for fields. An average or the price
    of a unit is an amount that does not add up over rows.
    """
    return pandera.Field(description=meaning, alias=named, nullable=nullable, metadata={"adds_up": adds_up}, **checks)


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

    @classmethod
    def facts(cls) -> Facts:
        """Return what it says as plain data."""
        return Facts(cls.grain(), cls.about(), cls.columns(), tuple(cls._doubts()))

    @classmethod
    def _doubts(cls) -> Iterator[Doubt]:
        """Yield the columns that something is claimed of; DuckDB counts first which rows may not keep it."""
        listed = {each.name for each in cls.columns() if each.type.startswith("ENUM(")}
        for name, each in cls.to_schema().columns.items():
            column = f'"{name}"'
            # NaN is, to DuckDB, greater than any number.
            others = [f"isnan({column})"] if each.checks and str(each.dtype).startswith("double") else []
            others += [f"{column} is null"] if not each.nullable else []
            texts = [_doubt(column, check) for check in each.checks]
            typed = [_doubt(column, check) for check in each.checks if check.name != "isin" or name not in listed]
            if texts or others:
                yield Doubt(cast("str", name), " or ".join(texts + others), " or ".join(typed + others))


def _doubt(column: str, check: pandera.Check) -> str:
    """Return the condition under which a value may break a check; true if the check cannot be expressed in SQL."""
    given = check.statistics or {}
    if check.name == "greater_than_or_equal_to":
        return f"{column} < {given['min_value']}"
    if check.name == "less_than_or_equal_to":
        return f"{column} > {given['max_value']}"
    if check.name == "isin":
        return f"{column} not in ({literals(given['allowed_values'])})"
    return "true"


def _type(kind: str, checks: list[pandera.Check]) -> str:
    """Return the type of a column, given that of its values."""
    for check in checks:
        if kind == "VARCHAR" and check.name == "isin":
            return f"ENUM({literals(sorted((check.statistics or {})['allowed_values']))})"
    return kind
