"""`ordermart land`: documents from files, validated like fetched ones."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Config, load_settings, usage_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.landing import Asked, LoadSummary

app = typer.Typer(help="Land documents from files, validated like fetched ones.", no_args_is_help=True)

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Files or quoted patterns, also gzipped. One menu per file; stores, orders: a JSON array, or one per line."
    ),
]
ObservedAt = Annotated[
    datetime | None,
    typer.Option(help="When the service returned these documents, UTC. Without it they never replace a fetched one."),
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
    typer.Option("--backfill", help="Land a long archive in parts: resumes after a kill, raises no alarms."),
]


def _add_command(kind: str, documents: str) -> None:
    """Add the command that lands files of one kind."""

    @app.command(
        kind,
        help=f"Land {documents} from files supplied by the partner.\n\nExit codes: 0 landed; 1 a file cannot be read; "
        "2 invalid settings or usage; 3 every document was rejected; 4 another process holds the run lock.",
    )
    def land(
        files: Files,
        *,
        observed_at: ObservedAt = None,
        observed_at_pointer: ObservedAtPointer = "",
        documents_pointer: DocumentsPointer = "",
        backfill: Backfill = False,
        config: Config = None,
    ) -> None:
        from pipelines.landing import Asked

        _land(kind, Asked(files, observed_at, observed_at_pointer, documents_pointer), config, in_parts=backfill)


for _kind, _documents in {"orders": "orders", "menus": "menus", "stores": "store records"}.items():
    _add_command(_kind, _documents)


@app.command("reprocess", short_help="Validate quarantined documents again.")
def land_reprocess(*, config: Config = None) -> None:
    """Validate quarantined documents again, and restore fields that settings have since allowed in plain text."""
    from pipelines.ingest.lock import run_lock
    from pipelines.landing import reprocess_quarantine
    from pipelines.vault import open_vault

    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart land reprocess"), open_vault(settings) as vault:
        summaries = reprocess_quarantine(settings, vault)
    if not summaries:
        typer.echo("There is nothing to reprocess.")
    for summary in summaries:
        _print(summary)


def _land(kind: str, asked: Asked, config: Path | None, *, in_parts: bool) -> None:
    from pipelines.ingest.lock import run_lock
    from pipelines.landing import backfill, land_files
    from pipelines.report.progress import terminal_progress
    from pipelines.report.summary import backfilled
    from pipelines.vault import open_vault

    if asked.observed_at and asked.observed_at_pointer:
        raise usage_error("--observed-at and --observed-at-pointer exclude each other: give one of them")
    settings = load_settings(config)
    with (
        run_lock(settings.data_dir, f"ordermart land {kind}"),
        open_vault(settings) as vault,
        terminal_progress() as progress,
    ):
        if in_parts:
            done = backfill(settings, vault, kind, asked, progress=progress)
            typer.echo(backfilled(done))
            verdicts: Mapping[str, int] = done.verdicts
        else:
            summary = land_files(settings, vault, kind, **asked._asdict(), progress=progress)
            _print(summary)
            verdicts = summary.counts
    # What was landed before, and skipped now, has no verdict.
    if verdicts.get("quarantined") and not verdicts.get("accepted") and not verdicts.get("unchanged"):
        raise typer.Exit(3)


def _print(summary: LoadSummary) -> None:
    from pipelines.report.summary import landed

    typer.echo(landed(summary))
