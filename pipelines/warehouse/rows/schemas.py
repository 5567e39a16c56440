"""The Pandera schema of a table: all that is demanded of each of its rows, with names, claims and severity.

A schema has the contract's columns, and as checks the key and every claim that rows keep or break one by
one: keys in other tables, ids that occur once, totals that follow from the row's own amounts. A claim that needs sums
of several rows, or inputs that no release holds, stays a select.

A claim is stated once, in SQL (`Check.by_row`), and asked of the frame that is validated: data that the frame lacks,
the rows of other tables, comes from the build, or from the release that a person has open.

Rows come as frames backed by Arrow, so that amounts stay exact. The environment (PANDERA_VALIDATION_ENABLED and its
like) decides nothing here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
from pandera.config import ValidationDepth, config_context, set_config
from pandera.errors import SchemaError, SchemaErrorReason, SchemaErrors, SchemaWarning

from pipelines.warehouse.catalogue import Check, Table
from pipelines.warehouse.catalogue.tables import claims, key_check
from pipelines.warehouse.inputs.relations import ARROW_TYPES

FRAME = "rows_at_hand"  # what a select on claims calls the frame; its rows are numbered by ROW
ROW = "row_no"

Connect = Callable[[], duckdb.DuckDBPyConnection]


def pinned() -> AbstractContextManager[None]:
    """Have Pandera validate everything, whatever the environment says."""
    set_config(use_narwhals_backend=False)  # another backend; which one is used is not part of the context
    return config_context(validation_enabled=True, validation_depth=ValidationDepth.SCHEMA_AND_DATA)


@dataclass
class ValidationContext:
    """Where the rows of other tables are, and what was found in those of this one.

    `whole` is the relation of all rows, of which a frame has some; "": the frame has all. `broken` are the claims that
    some row of a frame breaks, and the numbers of these rows.
    """

    connect: Connect
    whole: str = ""
    broken: list[tuple[Check, list[int]]] = field(default_factory=list)
    failure: Exception | None = None  # of the machine, not of the rows


class TableSchema(pandera.DataFrameSchema):
    """A schema whose `validate` says readably which columns are wrong, and takes listed words as DuckDB gives them."""

    context: ValidationContext

    @classmethod
    def get_backend(cls, check_obj: Any = None, check_type: type | None = None) -> Any:
        """Return what validates frames: Pandera knows it by the class of a schema."""
        return pandera.DataFrameSchema.get_backend(check_obj, check_type)

    def validate(self, check_obj: pd.DataFrame, *args: Any, **options: Any) -> pd.DataFrame:
        """Validate a frame, and return it; raise SchemaError, or SchemaErrors if `lazy`, naming the claim."""
        named = [str(column) for column in check_obj.columns]
        if fault := _fault_of_columns(list(self.columns), named):
            message = f"{self.name}: {fault}"
            reason = SchemaErrorReason.COLUMN_NOT_IN_SCHEMA
            raise SchemaError(self, check_obj, message, failure_cases=message, reason_code=reason)  # type: ignore[no-untyped-call]
        kinds = {name: kind.pyarrow_dtype for name, kind in check_obj.dtypes.items() if isinstance(kind, pd.ArrowDtype)}
        if words := [name for name, kind in kinds.items() if pa.types.is_dictionary(kind)]:
            check_obj = check_obj.astype(dict.fromkeys(words, pd.ArrowDtype(pa.string())))
        self.context.failure = None
        with pinned():
            try:
                return super().validate(check_obj, *args, **options)
            except (SchemaError, SchemaErrors):
                if self.context.failure:
                    raise self.context.failure from None
                raise


def schema_of(table: Table, context: ValidationContext, checks: Iterable[pandera.Check] | None = None) -> TableSchema:
    """Return the schema of a table: columns exactly as declared, in order, not coerced; all checks, or the given."""
    columns = {}
    for column in table.columns:
        found = [] if column.least is None else [pandera.Check.ge(column.least)]
        found += [] if column.most is None else [pandera.Check.le(column.most)]
        found += [pandera.Check.isin(column.words)] if column.words else []
        kind = pa.string() if column.words else arrow_type(column.type)
        columns[column.name] = pandera.Column(pd.ArrowDtype(kind), found, nullable=column.nullable)
    if checks is None:
        checks = [*key_checks(table, context), *(claim_check(each, context) for each in claims(table.name))]
    schema = TableSchema(
        columns, checks=list(checks), strict=True, ordered=True, name=table.name, description=table.description
    )
    schema.context = context
    return schema


def hold(frame: pd.DataFrame, checks: Iterable[Check], context: ValidationContext) -> None:
    """Hold the rows of a frame to claims; `context` notes which they break."""
    schema = pandera.DataFrameSchema(checks=[claim_check(each, context) for each in checks])
    with pinned(), warnings.catch_warnings(), suppress(SchemaErrors):
        warnings.simplefilter("ignore", SchemaWarning)
        schema.validate(frame, lazy=True, inplace=True)
    if context.failure:
        raise context.failure


def key_checks(table: Table, context: ValidationContext) -> list[pandera.Check]:
    """Return the check that a table's key is unique, where a null equals a null; none of a table without a key."""
    key = list(table.key)
    spelled = ", ".join(f'"{name}"' for name in key)
    has_lists = any(column.type.endswith("[]") for column in table.columns if column.name in table.key)
    found: list[Any] = []  # keys that are in two frames, or twice in one, once they were asked for

    def broken(frame: pd.DataFrame) -> list[int]:
        if not context.whole and has_lists:  # which pandas does not compare
            numbered = f"select {ROW}, row_number() over (partition by {spelled} order by {ROW}) as n from {FRAME}"
            return _asked_of(context, frame[key], f"select {ROW} from ({numbered}) where n > 1")
        if not context.whole:
            repeated = frame.duplicated(key)
            return [number for number, is_one in enumerate(repeated) if is_one] if repeated.any() else []
        if not found:
            select = f"select {spelled} from {context.whole} group by all having count(*) > 1"
            found.append(context.connect().sql(select).to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype))
        if found[0].empty:
            return []
        there = frame[key].merge(found[0].astype(frame.dtypes[key]), how="left", on=key, indicator=True)["_merge"]
        return [number for number, which in enumerate(there) if which == "both"]

    return [_asked(key_check(table), broken, context)] if key else []


def claim_check(check: Check, context: ValidationContext) -> pandera.Check:
    """Return a claim about single rows as a check of frames."""

    def broken(frame: pd.DataFrame) -> list[int]:
        used = [name for name in map(str, frame.columns) if name in check.reads.names]
        return _asked_of(context, frame[used], check.by_row(FRAME, context.whole or FRAME))

    return _asked(check, broken, context)


def _asked_of(context: ValidationContext, frame: pd.DataFrame, select: str) -> list[int]:
    """Return the numbers of rows that a select gives of a frame."""
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    rows = rows.append_column(ROW, pa.array(range(len(frame)), pa.int64()))
    return [row[0] for row in context.connect().from_arrow(rows).query(FRAME, select).fetchall()]


def _asked(check: Check, broken: Callable[[pd.DataFrame], list[int]], context: ValidationContext) -> pandera.Check:
    """Return a check that notes which rows break a claim; a failure of the machine is noted and raised as it is."""

    def holds(frame: pd.DataFrame) -> bool | pd.Series[bool]:
        try:
            found = broken(frame)
        except Exception as error:
            context.failure = error  # else Pandera takes it for a row that is wrong
            raise
        if not found:
            return True
        context.broken.append((check, found))
        right = pd.Series(data=True, index=frame.index)
        right.iloc[found] = False
        return right

    is_warning, said = check.severity == "warning", f"{check.name}: {check.claim}"
    return pandera.Check(holds, name=check.name, error=said, raise_warning=is_warning, ignore_na=False)


@functools.cache
def arrow_type(kind: str) -> pa.DataType:
    """Return the type in Arrow of one of DuckDB's."""
    if kind in ARROW_TYPES:
        return ARROW_TYPES[kind]
    with duckdb.connect() as con:
        return con.sql(f"select null::{kind}").to_arrow_table().schema.types[0]


def _fault_of_columns(declared: list[str], found: list[str]) -> str:
    """Return a sentence on columns that are not as declared; "" if they are."""
    if more := [name for name in found if name not in declared]:
        return f"the frame has column {more[0]}, which the table has not: validate its own, {', '.join(declared)}"
    if missing := [name for name in declared if name not in found]:
        return f"the frame lacks column {missing[0]}: take all columns of the table"
    if len(found) != len(set(found)):
        return "the frame has a column twice"
    return "" if found == declared else f"the columns are in another order than the table's: {', '.join(declared)}"
