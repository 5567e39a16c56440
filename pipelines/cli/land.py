"""`ordermart land`: documents from files, through the same gate as fetched ones."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Config, load_settings, usage_error

if TYPE_CHECKING:
    from pipelines.landing import Asked, LoadSummary

app = typer.Typer(help="Land documents from files, through the same gate as fetched ones.", no_args_is_help=True)

ObservedAt = Annotated[
    datetime | None,
    typer.Option(help="When the service gave these documents, UTC. Without it they never win over a live answer."),
]
ObservedAtPointer = Annotated[
    str, typer.Option(metavar="PTR", help="JSON pointer to that time in each document, such as /exported_at.")
]
DocumentsPointer = Annotated[
    str,
    typer.Option(metavar="PTR", help="JSON pointer to the documents inside a wrapper, such as /data/orders."),
]
Backfill = Annotated[
    bool,
    typer.Option(
        "--backfill",
        help="A long archive: landed in parts, goes on after a kill where it stopped, raises no alarm.",
    ),
]


@app.command("orders")
def land_orders(
    files: Annotated[list[Path], typer.Argument(help="Files, or quoted globs: NDJSON, or arrays of orders; gzip too.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    documents_pointer: DocumentsPointer = "",
    backfill: Backfill = False,
    config: Config = None,
) -> None:
    """Land orders that the partner handed over as files."""
    from pipelines.landing import Asked

    asked = Asked(files, observed_at, observed_at_pointer, documents_pointer)
    _land("orders", asked, config, in_parts=backfill)


@app.command("menus")
def land_menus(
    files: Annotated[list[Path], typer.Argument(help="Files, or quoted globs: one menu each; gzip too.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    documents_pointer: DocumentsPointer = "",
    backfill: Backfill = False,
    config: Config = None,
) -> None:
    """Land menus that the partner handed over as files."""
    from pipelines.landing import Asked

    asked = Asked(files, observed_at, observed_at_pointer, documents_pointer)
    _land("menus", asked, config, in_parts=backfill)


@app.command("stores")
def land_stores(
    files: Annotated[list[Path], typer.Argument(help="Files: a JSON array of store records, or one a line; gzip too.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    documents_pointer: DocumentsPointer = "",
    backfill: Backfill = False,
    config: Config = None,
) -> None:
    """Land store records that the partner handed over as files."""
    from pipelines.landing import Asked

    asked = Asked(files, observed_at, observed_at_pointer, documents_pointer)
    _land("stores", asked, config, in_parts=backfill)


@app.command("reprocess")
def land_reprocess(*, config: Config = None) -> None:
    """Judge again what was refused, and bring back fields that settings have since named as harmless."""
    from pipelines.assets.lock import run_lock
    from pipelines.landing import reprocess_quarantine
    from pipelines.vault import open_vault

    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart land reprocess"), open_vault(settings) as vault:
        summaries = reprocess_quarantine(settings, vault)
    if not summaries:
        typer.echo("Nothing is waiting to be judged again.")
    for summary in summaries:
        _tell(summary)


def _land(kind: str, asked: Asked, config: Path | None, *, in_parts: bool) -> None:
    from pipelines.assets.lock import run_lock
    from pipelines.landing import backfill, land_files
    from pipelines.report.progress import terminal_progress
    from pipelines.report.summary import backfilled
    from pipelines.vault import open_vault

    if asked.observed_at and asked.observed_at_pointer:
        raise usage_error("--observed-at and --observed-at-pointer say the same thing twice: give one of them")
    settings = load_settings(config)
    with (
        run_lock(settings.data_dir, f"ordermart land {kind}"),
        open_vault(settings) as vault,
        terminal_progress() as progress,
    ):
        if in_parts:
            typer.echo(backfilled(backfill(settings, vault, kind, asked, progress=progress)))
        else:
            _tell(
                land_files(
                    settings,
                    vault,
                    kind,
                    asked.paths,
                    observed_at=asked.observed_at,
                    observed_at_pointer=asked.observed_at_pointer,
                    documents_pointer=asked.documents_pointer,
                    progress=progress,
                )
            )


def _tell(summary: LoadSummary) -> None:
    from pipelines.report.summary import landed

    typer.echo(landed(summary))
