"""The command `ordermart status`."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say

app = typer.Typer()


@app.command()
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for monitors.")] = False,
    config: Config = None,
) -> None:
    """Show the last run, the release, what waits, alarms, the lock and the disk, without requests to the service.

    Exit codes: 0 the last good run is recent; 2 invalid settings; 3 it is older than [notify] max_age_hours, or there
    was none.
    """
    import json

    from pipelines.report.status import status as state_of
    from pipelines.report.status_lines import status_lines

    state = state_of(load_settings(config))
    say([json.dumps(state, indent=1)] if as_json else status_lines(state))
    raise typer.Exit(3 if state["is_stale"] else 0)
