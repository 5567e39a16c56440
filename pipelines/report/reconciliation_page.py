"""Write a reconciliation as one self-contained HTML page: the morning page's sections about it, of chosen orders.

Breaks come first, the largest first; tables are cut with a note. Knows nothing of terminals or workbooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.report.files import draft_of
from pipelines.report.page.charts import draw
from pipelines.report.page.markup import Chart, page, paragraph, section_html, text
from pipelines.report.page.reconciled import (
    breaks_section,
    control_totals_section,
    days_section,
    restatements_section,
    rules_section,
)
from pipelines.report.page.waterfall import waterfall_section
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
    title = f"Reconciliation: {reconciled.selection.description}"
    first = [breaks_section(reconciled, most_rows)]
    sections = [
        waterfall_section(reconciled),
        control_totals_section(reconciled, most_rows),
        rules_section(reconciled),
    ]
    last = [restatements_section(reconciled, most_rows), days_section(reconciled, most_rows)]
    drawn = draw([part for section in sections for part in section.parts if isinstance(part, Chart)])
    manifest = reconciled.manifest
    body = [
        "<header>",
        f"<h1>{text(title)}</h1>",
        _verdict(reconciled),
        paragraph(f"Release {manifest.id}, published at {manifest.published_at} (UTC)", "soft"),
        "</header>\n<main>",
        *(section_html(section, {}) for section in first),
        '<div class="cards">',
        *(section_html(section, drawn) for section in sections),
        "</div>",
        *(section_html(section, {}) for section in last),
        "</main>",
        f"<footer>{paragraph('All rows: `ordermart reconcile --xlsx FILE`, or the tables that are named.')}</footer>",
    ]
    return page(title, "\n".join(body))


def _verdict(reconciled: Reconciliation) -> str:
    level, mark = ("good", "Good") if reconciled.is_balanced() else ("warn", "Look")
    note = undated(reconciled)
    said = f'<p class="say"><span class="mark">{mark}:</span> {text(verdict(reconciled))}</p>'
    return f'<div class="verdict {level}">{said}{paragraph(note) if note else ""}</div>'
