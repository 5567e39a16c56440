"""`ordermart totals`: control totals of store-days from another source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

app = typer.Typer(help="Import control totals.", no_args_is_help=True)


@app.callback()
def totals() -> None:
    """Keep `import` a subcommand: typer merges a single command into its group."""


@app.command("import", short_help="Import control totals from a CSV file.")
def totals_import(
    file: Annotated[
        Path, typer.Argument(help="CSV: business_date,store_id,order_count,amount,amount_field,sale_classes.")
    ],
    *,
    config: Config = None,
) -> None:
    """Import control totals from a CSV file; the next build compares them with the actual totals.

    Columns: business_date (2026-10-31), store_id, order_count and amount (either may be empty), amount_field
    (total_price, subtotal_price, …) and sale_classes (all, or some of counted, excluded, unmapped, deleted joined by
    +). A later total for the same date, store, amount_field and sale_classes replaces the earlier one.
    """
    from pipelines.ledger import import_totals
    from pipelines.ledger.signed_head import signing_ledger

    done = import_totals(signing_ledger(load_settings(config)), file)
    replaced = f", replacing {done.replaced:,} earlier ones" if done.replaced else ""
    typer.echo(
        f"Imported {done.totals:,} control totals as ledger entry {done.entry_no}{replaced}. "
        "The next `ordermart run` or `ordermart build` compares them: see audit.control_totals."
    )
