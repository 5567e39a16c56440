"""`ordermart explain`: explain one order of the current release."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say

app = typer.Typer(help="Explain figures of the current release.", no_args_is_help=True)


@app.callback()
def explain() -> None:
    """Explain figures of the current release."""


@app.command("order", short_help="Print the receipt of one order.")
def explain_order(
    order_id: Annotated[int, typer.Argument(help="The order's id.")],
    *,
    config: Config = None,
) -> None:
    """Print an order's receipt: each amount with its JSON pointer, each sum written out.

    Personal data is never decrypted. Exit codes: 0 printed; 1 the current release lacks the order (prints what the work
    list and audit.quarantine know of it) or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report import explain

    say(explain.explain_order(load_settings(config), order_id))
