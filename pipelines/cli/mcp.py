"""`ordermart mcp`: the current release for assistants, by the Model Context Protocol."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings, usage_error

app = typer.Typer()


@app.command(short_help="Serve the release, read-only, to an assistant (MCP).")
def mcp(
    *,
    timeout_seconds: Annotated[
        int, typer.Option("--timeout-seconds", min=1, help="Time limit of one query, in seconds.")
    ] = 30,
    memory_mib: Annotated[int, typer.Option("--memory-mib", min=64, help="Memory limit of one query, in MiB.")] = 1024,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Row limit of one answer.")] = 1000,
    config: Config = None,
) -> None:
    """Serve the current release, read-only, to an assistant that speaks the Model Context Protocol.

    The assistant starts this command and talks to it over standard input and output. Its tools read the dictionary,
    example queries, coverage, open questions and single orders, and run selects within the limits. The vault is never
    opened. Needs the extra: pip install 'ordermart[mcp]'. Exit codes: 0 the client has closed; 2 invalid settings or
    usage, or the extra is missing.
    """
    from pipelines.report.mcp_server import Limits, MissingPackageError, serve

    protocol = getattr(sys.stdout, "terminal", sys.stdout)  # JSON, which escapes control characters by itself
    try:
        with contextlib.redirect_stdout(protocol):
            serve(load_settings(config), Limits(timeout_seconds, memory_mib, max_rows))
    except MissingPackageError as error:
        raise usage_error(str(error)) from None
