"""`ordermart land`: documents from files, through the same gate as fetched ones."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Config
from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from pipelines.landing import LoadSummary

app = typer.Typer(help="Land documents from files, through the same gate as fetched ones.", no_args_is_help=True)

ObservedAt = Annotated[
    datetime | None,
    typer.Option(help="When the service gave these documents, UTC. Without it they never win over a live answer."),
]
ObservedAtPointer = Annotated[
    str, typer.Option(metavar="PTR", help="JSON pointer to that time in each document, such as /exported_at.")
]


@app.command("orders")
def land_orders(
    files: Annotated[list[Path], typer.Argument(help="NDJSON files: one order a line.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land orders that the partner handed over as files."""
    _land("orders", files, observed_at, observed_at_pointer, config)


@app.command("menus")
def land_menus(
    files: Annotated[list[Path], typer.Argument(help="JSON files: one menu each.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land menus that the partner handed over as files."""
    _land("menus", files, observed_at, observed_at_pointer, config)


@app.command("stores")
def land_stores(
    files: Annotated[list[Path], typer.Argument(help="A JSON array of store records, or one a line.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land store records that the partner handed over as files."""
    _land("stores", files, observed_at, observed_at_pointer, config)


@app.command("retry")
def land_retry(*, config: Config = None) -> None:
    """Judge again what was refused, and bring back fields that settings have since named as harmless."""
    from pipelines.assets.lock import run_lock
    from pipelines.landing import land_retry as retry
    from pipelines.vault import open_vault

    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart land retry"), open_vault(settings) as vault:
        summaries = retry(settings, vault)
    if not summaries:
        typer.echo("Nothing is waiting to be judged again.")
    for summary in summaries:
        _tell(summary)


def _land(
    kind: str, files: list[Path], observed_at: datetime | None, observed_at_pointer: str, config: Path | None
) -> None:
    from pipelines.assets.lock import run_lock
    from pipelines.landing import land_files
    from pipelines.report.progress import terminal_progress
    from pipelines.vault import open_vault

    if observed_at and observed_at_pointer:
        raise SettingsError("--observed-at and --observed-at-pointer say the same thing twice: give one of them")
    settings = load_settings(config)
    with (
        run_lock(settings.data_dir, f"ordermart land {kind}"),
        open_vault(settings) as vault,
        terminal_progress() as progress,
    ):
        _tell(
            land_files(
                settings,
                vault,
                kind,
                files,
                observed_at=observed_at,
                observed_at_pointer=observed_at_pointer,
                progress=progress,
            )
        )


def _tell(summary: LoadSummary) -> None:
    from pipelines.report.summary import landed

    typer.echo(landed(summary))
