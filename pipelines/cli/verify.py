"""The command that proves the warehouse: verify."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say, usage_error

app = typer.Typer()


@app.command(short_help="Rebuild a sample and compare it with the warehouse.")
def verify(
    *,
    days: Annotated[
        int, typer.Option(min=0, help="Verify the last N business days.", metavar="N", show_default=False)
    ] = 0,
    fraction: Annotated[
        str,
        typer.Option(help="Verify the next part of all orders and days, after the last one verified.", metavar="1/64"),
    ] = "1/64",
    everything: Annotated[bool, typer.Option("--all", help="Verify every table, by a full rebuild.")] = False,
    config: Config = None,
) -> None:
    """Rebuild a sample from the landing zone and compare it with the warehouse and the current release.

    Exit codes: 0 every row is the same; 1 nothing could be verified; 2 invalid settings or usage; 3 rows differ: the
    first table, key and column are named; 4 another run holds the lock.
    """
    from pipelines.ingest.lock import run_lock
    from pipelines.report.outcomes import verification_lines
    from pipelines.report.progress import terminal_progress
    from pipelines.warehouse.verify import verify_all, verify_days, verify_next

    share = _fraction(fraction)
    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart verify"), terminal_progress() as progress:
        if everything:
            found = verify_all(settings, progress)
        elif days:
            found = verify_days(settings, days)
        else:
            found = verify_next(settings, share)
    say(verification_lines(found))
    raise typer.Exit(3 if found.differences else 0)


def _fraction(text: str) -> Fraction:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise usage_error(f"--fraction: {text!r} is not a fraction above 0 and up to 1; use 1/64, for example")
    return share
