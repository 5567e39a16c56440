"""`ordermart webhooks`: the receiver, and its undecodable deliveries."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli.options import Config, load_settings

app = typer.Typer(help="Receive webhooks; list and reprocess undecodable ones.", no_args_is_help=True)


@app.command("serve")
def webhooks_serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; default: [webhooks] host.")] = "",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port, 0 for any free one; default: [webhooks] port."),
    ] = None,
    config: Config = None,
) -> None:
    """Receive webhook deliveries until stopped (Ctrl-C or SIGTERM).

    Run it as a process of its own. A delivery is answered with 2xx only once it is on the disk; the next run, or the
    sensor of `ordermart dev` within a minute, fetches the document that it names.
    """
    from pipelines.inbox.receiver import serve_webhooks
    from pipelines.run.telling import keep_looking

    settings = load_settings(config)
    keep_looking(settings)
    serve_webhooks(settings, host or None, port)


@app.command("undecodable")
def webhooks_undecodable(*, config: Config = None) -> None:
    """List undecodable deliveries, without their bodies.

    Each has its number, time, reason, and whether its body is kept in the vault.
    """
    from pipelines.inbox.deliveries import undecodable
    from pipelines.inbox.store import inbox_path
    from pipelines.report.outcomes import undecodable_list

    typer.echo(undecodable_list(undecodable(inbox_path(load_settings(config).data_dir))))


@app.command("reprocess", short_help="Decode undecodable deliveries again.")
def webhooks_reprocess(*, config: Config = None) -> None:
    """Decode undecodable deliveries again, after a correction of [webhooks].

    The ids of those that can now be decoded are put on the work list.
    """
    from pipelines.inbox.reprocess import reprocess_deliveries
    from pipelines.inbox.store import inbox_path
    from pipelines.report.outcomes import reprocessed
    from pipelines.vault import open_vault

    settings = load_settings(config)
    with open_vault(settings) as vault:
        typer.echo(
            reprocessed(*reprocess_deliveries(settings.webhooks, inbox_path(settings.data_dir), vault.refused.body))
        )
