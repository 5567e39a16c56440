"""Give a build its inputs: schema `raw`, filled from landed files, the ledger, logs and settings.

Knows which columns each relation has and where its rows come from, not which tables read it.
"""

from pipelines.warehouse.inputs.relations import (
    CONTENT,
    DOCUMENTS,
    ENTITY,
    INSTANT,
    IS_DELETED,
    LANDED_KINDS,
    OBSERVATION,
    RAW,
    VALIDATED,
    changes,
    sql_type,
    structure,
)

__all__ = [
    "CONTENT",
    "DOCUMENTS",
    "ENTITY",
    "INSTANT",
    "IS_DELETED",
    "LANDED_KINDS",
    "OBSERVATION",
    "RAW",
    "VALIDATED",
    "changes",
    "sql_type",
    "structure",
]
