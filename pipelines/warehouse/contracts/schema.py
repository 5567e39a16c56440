"""Make the Pandera schema of a contract: columns exactly as declared, in that order, never coerced.

Importing this takes a second, for Pandera.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa

from pipelines.warehouse.contracts.contract import ARROW_TYPES

if TYPE_CHECKING:
    from pipelines.warehouse.contracts.contract import Column, Contract


def schema_of(contract: Contract) -> pandera.DataFrameSchema:
    """Return the schema that rows of a table are validated by."""
    columns = {
        column.name: pandera.Column(
            pd.ArrowDtype(pa.string() if column.words else ARROW_TYPES[column.type]),
            _checks(column),
            nullable=column.nullable,
        )
        for column in contract.columns
    }
    return pandera.DataFrameSchema(columns, strict=True, ordered=True)


def _checks(column: Column) -> list[pandera.Check]:
    least = [] if column.least is None else [pandera.Check.ge(column.least)]
    most = [] if column.most is None else [pandera.Check.le(column.most)]
    return [*least, *most, *([pandera.Check.isin(column.words)] if column.words else [])]
