"""Find every table and check: its SQL file, its contract, what it reads, and the order in which tables can be built.

Knows nothing of data, settings or how a build runs.
"""

from pipelines.warehouse.catalogue.reads import CatalogueError, Reads, reads
from pipelines.warehouse.catalogue.tables import (
    SCHEMAS,
    SQL,
    Check,
    Table,
    build_sql,
    check,
    checks,
    contract_check,
    downstream_of_orders,
    key_check,
    released,
    stages,
    table,
    tables,
    ties,
)

__all__ = [
    "SCHEMAS",
    "SQL",
    "CatalogueError",
    "Check",
    "Reads",
    "Table",
    "build_sql",
    "check",
    "checks",
    "contract_check",
    "downstream_of_orders",
    "key_check",
    "reads",
    "released",
    "stages",
    "table",
    "tables",
    "ties",
]
