"""`ordermart reconcile`: what a release's prices add up to, printed, as a workbook and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say, usage_error

app = typer.Typer()


@app.command()
def reconcile(
    *,
    since: Annotated[str, typer.Option("--from", metavar="DAY", help="First business day, such as 2026-10-01.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="DAY", help="Last business day, itself included.")] = "",
    store: Annotated[int | None, typer.Option(help="Only this store, by its id.")] = None,
    xlsx: Annotated[Path | None, typer.Option(dir_okay=False, help="Write a workbook here, too.")] = None,
    html: Annotated[Path | None, typer.Option(dir_okay=False, help="Write a page of one file here, too.")] = None,
    all_orders: Annotated[
        bool, typer.Option("--all-orders", help="List every order in the workbook, not only the breaks.")
    ] = False,
    config: Config = None,
) -> None:
    """Reconcile the current release: parts with totals, lines with subtotals, by day; closed days with what is now.

    Exit codes: 0 balanced: every order; 1 there is no release, or a file cannot be written; 2 wrong settings or usage;
    3 not balanced: orders that are off or cannot be told, open restatements, or control totals that differ.
    """
    from pipelines.finance.reconciliation import Selection, reconciliation
    from pipelines.finance.released import released
    from pipelines.report.progress import terminal_progress
    from pipelines.report.reconciliation import reconciliation_lines
    from pipelines.report.reconciliation_page import write_page
    from pipelines.report.workbook import write_workbook

    selection = Selection.between(since, until, store)
    if all_orders and xlsx is None:
        raise usage_error("--all-orders is about the workbook: name it by --xlsx FILE")
    with released(load_settings(config)) as release:
        reconciled = reconciliation(release, selection)
        say(reconciliation_lines(reconciled))
        if xlsx is not None:
            with terminal_progress() as progress:
                write_workbook(reconciled, xlsx, all_orders=all_orders, progress=progress)
            say([f"Workbook: {xlsx}"])
        if html is not None:
            write_page(reconciled, html)
            say([f"Page: {html}"])
        raise typer.Exit(0 if reconciled.is_balanced() else 3)
