"""`ordermart totals`: what somebody else says a store's day came to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

app = typer.Typer(help="Control totals: what somebody else says a store's day came to.", no_args_is_help=True)


@app.callback()
def totals() -> None:
    """Keep `import` a word of its own: a lone command would take the group's name."""


@app.command("import")
def totals_import(
    file: Annotated[Path, typer.Argument(help="CSV: day,store_id,orders,amount,amount_field,sale_classes.")],
    *,
    config: Config = None,
) -> None:
    """Import control totals from a CSV file into the ledger; the next build compares ours with them.

    Columns: day (2026-10-31, a business day), store_id, orders and amount (either may be empty), amount_field
    (total_price, subtotal_price, …) and sale_classes: which orders it counts, all, or some of counted, excluded,
    unmapped, deleted joined by +. A later import of the same day, store, part and classes stands for the earlier one.
    """
    from pipelines.ledger import Ledger, import_totals

    done = import_totals(Ledger(load_settings(config).data_dir / "ledger"), file)
    replaced = f", {done.replaced:,} of them in place of earlier ones" if done.replaced else ""
    typer.echo(
        f"{done.totals:,} control totals are in the ledger, act {done.entry_no}{replaced}. "
        "The next `ordermart run` or `ordermart build` compares: see audit.control_totals."
    )
