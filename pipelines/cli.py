"""The command `ordermart`: each command calls one function of another room.

Decides nothing but how a result is printed and which exit code an error has. Rooms are imported when a command
needs them, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from pipelines.landing import LoadSummary

app = typer.Typer(
    name="ordermart",
    help="Pull orders and menus of a partner ordering service into a warehouse that adds up.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
land_app = typer.Typer(help="Land documents from files, through the same gate as fetched ones.", no_args_is_help=True)
sandbox_app = typer.Typer(help="The stand-in partner service.", no_args_is_help=True)
vault_app = typer.Typer(help="The room of personal data.", no_args_is_help=True)
app.add_typer(land_app, name="land")
app.add_typer(sandbox_app, name="sandbox")
app.add_typer(vault_app, name="vault")

Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; default: ORDERMART_CONFIG, else ordermart.toml of the checkout."),
]
ObservedAt = Annotated[
    datetime | None,
    typer.Option(help="When the service gave these documents, UTC. Without it they never win over a live answer."),
]
_LAST_DAY = datetime(2026, 10, 31)  # noqa: DTZ001 -- a day, not a moment

ObservedAtPointer = Annotated[
    str, typer.Option(metavar="PTR", help="JSON pointer to that time in each document, such as /exported_at.")
]


@app.command()
def run(
    *,
    config: Config = None,
    order_ids: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="File of order ids to pull, one a line.")
    ] = None,
    order_id_range: Annotated[str, typer.Option(metavar="A-B", help="Order ids to pull, both ends included.")] = "",
    menu_ids: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="File of menu ids to pull besides those of store records."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit 3 also for ids that were refused before this run.")] = False,
) -> None:
    """Fetch what is due, land it, build the warehouse and publish a release.

    Exit codes: 0 published, or nothing changed; 1 failed, the last release stands; 2 wrong settings or usage;
    3 published, and ids failed or were refused that were not so before (see audit.quarantine); 4 another run
    holds the lock.
    """
    from pipelines.assets.night import exit_code, run_night
    from pipelines.definitions import NIGHTLY, wiring
    from pipelines.landing import guard_source
    from pipelines.report.progress import terminal_progress
    from pipelines.report.summary import refused, summary

    settings = load_settings(config)
    if order_id_range:
        from pipelines.assets.request import ids_of_range

        ids_of_range(order_id_range)
    guard_source(settings)
    before = refused(settings)
    with terminal_progress() as progress:
        night = run_night(
            settings,
            wiring(settings, progress).resolve_job_def(NIGHTLY),
            order_ids=order_ids,
            order_id_range=order_id_range,
            menu_ids=menu_ids,
        )
    typer.echo(summary(settings, night))
    now = refused(settings)
    raise typer.Exit(exit_code(night, new_refusals=bool(now if strict else now - before)))


@app.command()
def build(
    *,
    config: Config = None,
    full: Annotated[bool, typer.Option(help="Rebuild everything from what is landed.")] = False,
) -> None:
    """Make the tables and a release from what is landed, without asking the service.

    Exit codes: 0 published, or nothing changed; 1 a check blocked it, the last release stands; 2 wrong settings;
    4 another run holds the lock.
    """
    from pipelines.assets.lock import run_lock
    from pipelines.report.progress import terminal_progress
    from pipelines.report.summary import built
    from pipelines.warehouse import build as build_tables
    from pipelines.warehouse import publish

    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart build"), terminal_progress() as progress:
        result = build_tables(settings, full=full, progress=progress)
        release = publish(settings)
    typer.echo(built(result, release))


@land_app.command("orders")
def land_orders(
    files: Annotated[list[Path], typer.Argument(help="NDJSON files: one order a line.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land orders that the partner handed over as files."""
    _land("orders", files, observed_at, observed_at_pointer, config)


@land_app.command("menus")
def land_menus(
    files: Annotated[list[Path], typer.Argument(help="JSON files: one menu each.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land menus that the partner handed over as files."""
    _land("menus", files, observed_at, observed_at_pointer, config)


@land_app.command("stores")
def land_stores(
    files: Annotated[list[Path], typer.Argument(help="A JSON array of store records, or one a line.")],
    *,
    observed_at: ObservedAt = None,
    observed_at_pointer: ObservedAtPointer = "",
    config: Config = None,
) -> None:
    """Land store records that the partner handed over as files."""
    _land("stores", files, observed_at, observed_at_pointer, config)


@land_app.command("retry")
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


@sandbox_app.command("serve")
def sandbox_serve(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any that is free.")] = 8600,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    stores: Annotated[int, typer.Option(min=1, help="How many stores.")] = 30,
    orders: Annotated[int, typer.Option(min=0, help="How many orders.")] = 5000,
    days: Annotated[int, typer.Option(min=1, help="Over how many days.")] = 28,
    faults: Annotated[float, typer.Option(min=0, max=1, help="Share of orders and menus with a planted fault.")] = 0.0,
    truth: Annotated[Path | None, typer.Option(help="Write each planted fault here, as JSON lines.")] = None,
    ids: Annotated[Path | None, typer.Option(help="Write all order ids here, one a line.")] = None,
    until: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d"], help="The last day on which orders are made.")
    ] = _LAST_DAY,
    client_id: Annotated[str, typer.Option(help="The client_id that it accepts.")] = "sandbox",
    client_secret: Annotated[str, typer.Option(help="The client_secret that it accepts.")] = "sandbox",  # noqa: S107
) -> None:
    """Serve a made-up partner service on loopback until stopped: a seeded world with known truth."""
    from pipelines.sandbox.serve import ServeError, serve

    try:
        serve(
            port=port,
            seed=seed,
            stores=stores,
            orders=orders,
            days=days,
            until=until.date(),
            faults=faults,
            truth=truth,
            ids=ids,
            client_id=client_id,
            client_secret=client_secret,
        )
    except (ServeError, ValueError) as error:
        _end(error, 2)


@vault_app.command("new-keys")
def vault_new_keys(
    file: Annotated[Path, typer.Argument(help="A new file, made with mode 600. Keep a copy elsewhere.")],
) -> None:
    """Make the two secrets of a vault in a new file; without them nothing sealed can ever be opened again."""
    from pipelines.vault import new_key_file

    new_key_file(file)
    typer.echo(f"Wrote {file}: name it as [vault] key_file, or set ORDERMART_VAULT__… from what it holds.")


@app.command()
def demo(
    *,
    orders: Annotated[int, typer.Option(min=1, help="How many orders the stand-in holds.")] = 5000,
    stores: Annotated[int, typer.Option(min=1, help="How many stores.")] = 30,
    faults: Annotated[float, typer.Option(min=0, max=1, help="Share of documents with a planted fault.")] = 0.02,
    config: Config = None,
) -> None:
    """Run the whole job on the embedded stand-in service, and show what came out."""
    from pipelines.demo import run_demo

    raise typer.Exit(run_demo(config, orders=orders, stores=stores, faults=faults))


@app.command()
def dev(*, config: Config = None) -> None:
    """Open Dagster's own pages on this instance, with the nightly schedule (Ctrl-C stops it)."""
    from pipelines.assets.home import dagster_dev

    raise typer.Exit(dagster_dev(load_settings(config)))


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


def main() -> None:
    """Run the command line; an expected error is one sentence on standard error, and an exit code."""
    from pipelines.assets.lock import RunLockedError

    try:
        app()
    except SettingsError as error:
        _end(error, 2)
    except RunLockedError as error:
        _end(error, 4)
    except Exception as error:
        if not type(error).__module__.startswith("pipelines."):
            raise
        _end(error, 1)


def _end(error: Exception, code: int) -> None:
    typer.echo(f"ordermart: {error}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
