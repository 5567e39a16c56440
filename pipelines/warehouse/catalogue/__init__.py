"""Find every table and check: its contract and select, what it reads, and the order in which tables can be built."""

from pipelines.warehouse.catalogue.meta_tables import META, Example, create_macros, examples, macros, not_available
from pipelines.warehouse.catalogue.selects import Reads, filled, reads
from pipelines.warehouse.catalogue.tables import (
    SCHEMAS,
    SQL,
    Check,
    Claims,
    Table,
    check,
    checks,
    downstream_of_orders,
    joins,
    looks,
    partition_of,
    release_tables,
    stages,
    table,
    tables,
    ties,
)
from pipelines.warehouse.contracts import CatalogueError

__all__ = [
    "META", "SCHEMAS", "SQL", "CatalogueError", "Check", "Claims", "Example", "Reads", "Table", "check", "checks",
    "create_macros", "downstream_of_orders", "examples", "filled", "joins", "looks", "macros", "not_available",
    "partition_of", "reads", "release_tables", "stages", "table", "tables", "ties",
]  # fmt: skip
