"""`ordermart reconcile`: reconcile the prices of a release; print it, write a workbook or a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, Since, Until, load_settings, say, usage_error

app = typer.Typer()


@app.command(short_help="Reconcile totals, lines and closed days.")
def reconcile(
    *,
    since: Since = "",
    until: Until = "",
    store: Annotated[int | None, typer.Option(help="Limit to this store id.")] = None,
    xlsx: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write an Excel workbook to this file.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write a self-contained HTML page to this file.")
    ] = None,
    all_orders: Annotated[
        bool, typer.Option("--all-orders", help="List all orders in the workbook, not only breaks.")
    ] = False,
    config: Config = None,
) -> None:
    """Reconcile the current release by day: totals with price fields, subtotals with lines, closed days with changes.

    Exit codes: 0 every order is balanced; 1 there is no release, or a file cannot be written; 2 invalid settings or
    usage; 3 not balanced (breaks, indeterminate orders, unposted restatements, control totals with a variance), or no
    order is selected.
    """
    from pipelines.finance.periods import Selection
    from pipelines.finance.reconciliation import reconciliation
    from pipelines.finance.released import released
    from pipelines.report.progress import terminal_progress
    from pipelines.report.reconciliation_views import reconciliation_lines, write_page
    from pipelines.report.workbook import write_workbook

    selection = Selection.between(since, until, store)
    if all_orders and xlsx is None:
        raise usage_error("--all-orders needs --xlsx FILE: it lists all orders in the workbook")
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
