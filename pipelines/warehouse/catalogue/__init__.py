"""Find every table and check: its contract and select, what it reads, and the order in which tables can be built."""

from pipelines.warehouse.catalogue.reads import Reads, reads
from pipelines.warehouse.catalogue.tables import (
    SCHEMAS,
    SQL,
    Check,
    Table,
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
from pipelines.warehouse.contracts import CatalogueError

__all__ = [
    "SCHEMAS",
    "SQL",
    "CatalogueError",
    "Check",
    "Reads",
    "Table",
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
