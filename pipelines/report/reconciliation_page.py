"""Write a reconciliation as one self-contained HTML page: the morning page's sections about it, of chosen orders.

Breaks come first, the largest first; tables are cut with a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.report.files import draft_of
from pipelines.report.page.reconciled_facts import reconciled_facts, urgent_days
from pipelines.report.page.template import render
from pipelines.report.verdict import undated, verdict

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation

MOST_ROWS = 60  # of a table; the workbook has all


def write_page(reconciled: Reconciliation, path: Path) -> None:
    """Write the page to `path` atomically; raise ReportFileError."""
    with draft_of(path) as draft:
        draft.write_text(page_text(reconciled), encoding="utf-8")


def page_text(reconciled: Reconciliation, most_rows: int = MOST_ROWS) -> str:
    """Return the page; tables are cut at `most_rows` rows, with a note on where all are."""
    return render(
        "reconciliation.html",
        selected=reconciled.selection.description,
        is_balanced=reconciled.is_balanced(),
        verdict=verdict(reconciled),
        undated=undated(reconciled),
        manifest=reconciled.manifest,
        days=urgent_days(reconciled),
        most=most_rows,
        **reconciled_facts(reconciled, most_rows, most_rows),
    )
