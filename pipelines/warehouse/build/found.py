"""Read the findings of the last build's checks out of the warehouse file. Reads only; builds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from pipelines.literals import literal
from pipelines.warehouse.build.build import warehouse_file
from pipelines.warehouse.rows.making import results_as_stored

if TYPE_CHECKING:
    from pipelines.settings import Settings
    from pipelines.warehouse.rows.results import CheckResult


def stored_results(settings: Settings) -> list[CheckResult]:
    """Return the result of every check as the last build stored it; none before the first build."""
    file = warehouse_file(settings.data_dir)
    if not file.exists():
        return []
    with duckdb.connect(":memory:") as con:
        con.execute(f"attach {literal(file)} as warehouse (read_only)")
        return results_as_stored(con)
