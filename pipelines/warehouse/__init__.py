"""Run sql/ over landed documents into the warehouse, check the rows against their contracts, and publish releases."""

from typing import TYPE_CHECKING

from pipelines.resources import exported

if TYPE_CHECKING:
    from pipelines.warehouse.building.build import MemoryLimitError, build
    from pipelines.warehouse.building.stored_warehouse import warehouse_file
    from pipelines.warehouse.catalogue.tables import Check, Table, checks, tables
    from pipelines.warehouse.contracts import CatalogueError
    from pipelines.warehouse.release.release import Release, publish
    from pipelines.warehouse.rows.fresh_rows import BuildBlocked, BuildResult, CheckResult
else:
    __getattr__ = exported(__name__, __file__)

__all__ = [
    "BuildBlocked",
    "BuildResult",
    "CatalogueError",
    "Check",
    "CheckResult",
    "MemoryLimitError",
    "Release",
    "Table",
    "build",
    "checks",
    "publish",
    "tables",
    "warehouse_file",
]
