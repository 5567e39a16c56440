"""`ordermart explain`: one thing of the release, told with all that it rests on."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say

app = typer.Typer(help="Tell one thing of the release with all that it rests on.", no_args_is_help=True)


@app.callback()
def explain() -> None:
    """Tell one thing of the release with all that it rests on."""


@app.command("order")
def explain_order(
    order_id: Annotated[int, typer.Argument(help="The order, as the service numbers it.")],
    *,
    config: Config = None,
) -> None:
    """Print an order's receipt: each amount with its place in the document, each sum written out.

    Personal data is told as sealed or not given, never opened. Exit codes: 0; 1 no release holds the order (what the
    work list and audit.quarantine know of it is said); 2 wrong settings or usage.
    """
    from pipelines.report.explain import explain_order as lines

    say(lines(load_settings(config), order_id))
