"""The commands that look and change nothing: status, doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, say

app = typer.Typer()


@app.command(short_help="Show last run, release, queue, alarms, lock and disk.")
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for monitors.")] = False,
    config: Config = None,
) -> None:
    """Show the last run, the release, queued ids, alarms, the lock and disk space, without requests to the service.

    A run that was killed since is told first, as the next run would do: by an alarm and on the morning page.

    Exit codes: 0 the last good night is recent; 2 invalid settings; 3 it is older than [notify] max_age_hours, or there
    was none.
    """
    import json

    from pipelines.report.status import status as state_of
    from pipelines.report.status import status_lines
    from pipelines.run.telling import look_for_dead_runs

    settings = load_settings(config)
    look_for_dead_runs(settings)
    state = state_of(settings)
    say([json.dumps(state, indent=1)] if as_json else status_lines(state))
    raise typer.Exit(3 if state["is_stale"] else 0)


@app.command(short_help="Examine the installation and say what to fix.")
def doctor(*, config: Config = None) -> None:
    """Examine settings, secrets, disk, lock, daemon, receiver and the service; say what to fix. Changes nothing.

    Asks the service for a token, its stores, one menu and one order. Exit codes: 0 every part is ok; 1 a part fails;
    2 invalid settings; 3 there are warnings only.
    """
    from pipelines.report.doctor import examine, exit_code

    findings = []
    for finding in examine(load_settings(config)):
        findings.append(finding)
        say([finding.line()])
    raise typer.Exit(exit_code(findings))
