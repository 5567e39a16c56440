"""`ordermart diff` and `ordermart sample`: compare releases, and copy a part of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say, usage_error

app = typer.Typer()


@app.command(short_help="Compare two releases: rows and amounts that differ.")
def diff(
    before: Annotated[str, typer.Argument(metavar="[A]", help="The earlier release's id, or its beginning.")] = "",
    after: Annotated[str, typer.Argument(metavar="[B]", help="The later release's id, or its beginning.")] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config: Config = None,
) -> None:
    """Compare two releases: rows and amounts of core and mart that differ, by table, store and month.

    By default the last release with the one before it, as the release's own meta.changes does. Exit codes: 0 compared;
    1 a release does not exist; 2 invalid settings or usage.
    """
    from pipelines.report.outcomes import diff_json, diff_lines
    from pipelines.warehouse.release.release_diff import diff as compared

    found = compared(load_settings(config), before, after)
    say([diff_json(found)] if as_json else diff_lines(found))


@app.command(short_help="Copy a fraction of the orders into a new folder.")
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    *,
    fraction: Annotated[str, typer.Option(help="The share of orders, as 1/N.")] = "1/64",
    config: Config = None,
) -> None:
    """Copy a fraction of the current release's orders, with all their rows of every table, into a new folder.

    Tables that are not about single orders, such as menus and totals by day, are copied in full. The same orders are
    drawn each time. Exit codes: 0 copied; 1 there is no release, or DIR exists; 2 invalid settings or usage.
    """
    from pipelines.finance.released import released
    from pipelines.warehouse.release.sample import write_sample

    one, _, parts = fraction.partition("/")
    if one != "1" or not parts.isdecimal() or not 1 <= int(parts) <= 1_000_000:
        raise usage_error(f"--fraction: {fraction!r} is not valid; use 1/N, such as 1/64")
    with released(load_settings(config)) as release:
        rows = write_sample(release.path, folder, int(parts))
    say([f"{rows['core.orders']:,} orders of release {release.path.name} are in {folder / 'ordermart.duckdb'}"])
