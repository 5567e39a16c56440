"""`ordermart webhooks`: the receiver of what the service announces, and what of it nobody could read."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

app = typer.Typer(help="Receive webhooks, and look after those that nobody could read.", no_args_is_help=True)


@app.command("serve")
def webhooks_serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; default: [webhooks] host.")] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0: any that is free; default: [webhooks] port.")
    ] = None,
    config: Config = None,
) -> None:
    """Take deliveries until stopped (Ctrl-C or SIGTERM), a process of its own beside the schedule.

    A delivery is answered with 2xx only when it is on the disk; the next run, or the sensor of `ordermart dev` within a
    minute, fetches what it names.
    """
    from pipelines.inbox.receiver import serve_webhooks

    serve_webhooks(load_settings(config), host or None, port)


@app.command("undecodable")
def webhooks_undecodable(*, config: Config = None) -> None:
    """List the deliveries that nobody could read: number, time, reason, and whether the body is kept; never a body."""
    from pipelines.inbox.deliveries import undecodable
    from pipelines.inbox.receiver import inbox_path
    from pipelines.report.inbox import unread

    typer.echo(unread(undecodable(inbox_path(load_settings(config).data_dir))))


@app.command("reprocess")
def webhooks_reprocess(*, config: Config = None) -> None:
    """Read them again, after [webhooks] was put right: what can be read now is put on the work list."""
    from pipelines.inbox.receiver import inbox_path
    from pipelines.inbox.reprocess import reprocess_deliveries
    from pipelines.report.inbox import read_again
    from pipelines.vault import open_vault

    settings = load_settings(config)
    with open_vault(settings) as vault:
        typer.echo(
            read_again(*reprocess_deliveries(settings.webhooks, inbox_path(settings.data_dir), vault.refused.body))
        )
