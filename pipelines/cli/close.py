"""`ordermart close` and `ordermart restatements`: days that are sealed, and what changed in them since."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from pipelines.cli.options import Config
from pipelines.settings import SettingsError, load_settings

Store = Annotated[int | None, typer.Option("--store", help="Only this store's day.")]


class _DayFirst(TyperGroup):
    """A group in which what is no command of its own, a day above all, is given to the command `day`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `day` before arguments that do not start with a command."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            args = ["day", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_DayFirst,
    no_args_is_help=True,
    help="Seal business days into the ledger: `ordermart close 2026-10-31`, `ordermart close --period 2026-10`; "
    "`ordermart close day --help` lists the options.",
)
restatements_app = typer.Typer(help="What changed in sealed days since they were sealed.", no_args_is_help=True)


@app.command("day")
def close_day(
    day: Annotated[str, typer.Argument(metavar="[DAY]", help="The business day, such as 2026-10-31.")] = "",
    *,
    period: Annotated[
        str, typer.Option(metavar="NAME", help="Instead of a day: a month, 2026-10, or one of [closing] periods_file.")
    ] = "",
    store: Store = None,
    check: Annotated[bool, typer.Option("--check", help="Only list what stands in the way.")] = False,
    with_exceptions: Annotated[
        str,
        typer.Option(metavar="REASON", help="Seal it all the same; the reason is sealed, and what was in the way."),
    ] = "",
    config: Config = None,
) -> None:
    """Seal a business day, or a period, of the current release: `ordermart close 2026-10-31`.

    Exit codes: 0 sealed, or nothing stands in the way; 1 it cannot be sealed, such as a day that is sealed; 2 wrong
    usage; 3 refused, and each thing that stands in the way is a line; 4 a run holds the lock.
    """
    from pipelines.finance import closing
    from pipelines.finance.periods import one_day, period_of
    from pipelines.ingest.lock import run_lock
    from pipelines.report.closing import closed, in_the_way

    settings = load_settings(config)
    if with_exceptions and not with_exceptions.strip():
        raise SettingsError("--with-exceptions must say why")
    if bool(day) == bool(period):
        raise SettingsError("give either a day, such as 2026-10-31, or --period 2026-10")
    days = one_day(day) if day else period_of(settings, period)
    if check:
        found = closing.check(settings, days, store)
        typer.echo(in_the_way(days, found))
        raise typer.Exit(3 if found else 0)
    with run_lock(settings.data_dir, "ordermart close"):
        done = closing.close(settings, days, store, exceptions=with_exceptions.strip())
    typer.echo(closed(days, done))
    raise typer.Exit(0 if done.entry else 3)


@app.command("reopen")
def close_reopen(
    day: Annotated[str, typer.Argument(help="The business day, such as 2026-10-31.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")],
    store: Store = None,
    config: Config = None,
) -> None:
    """Take back the seal of a day, with a reason; the day can be sealed anew."""
    from pipelines.finance import closing
    from pipelines.finance.periods import one_day
    from pipelines.ingest.lock import run_lock
    from pipelines.report.closing import reopened

    settings = load_settings(config)
    if not reason.strip():
        raise SettingsError("--reason must say something")
    with run_lock(settings.data_dir, "ordermart close reopen"):
        entry = closing.reopen(settings, one_day(day).first_day, store, reason.strip())
    typer.echo(reopened(entry))


audit_pack_app = typer.Typer()


@audit_pack_app.command("audit-pack")
def audit_pack(
    *,
    period: Annotated[
        str, typer.Option(metavar="NAME", help="A month, 2026-10, a day, or one of [closing] periods_file.")
    ],
    out: Annotated[Path, typer.Option(help="A folder that is not there yet.")],
    sample: Annotated[int, typer.Option(min=0, help="How many orders get a receipt.")] = 25,
    seed: Annotated[int, typer.Option(help="The same seed draws the same orders.")] = 1,
    config: Config = None,
) -> None:
    """Write a pack for auditors: seals, restatements, evidence, control totals, receipts, and a verifier.

    The pack holds no personal data and no secret. `python3 -I verify.py` in it checks every hash and the chain.
    """
    from pipelines.finance.periods import period_or_day
    from pipelines.report.closing import packed
    from pipelines.report.evidence import make_pack

    settings = load_settings(config)
    days = period_or_day(settings, period)
    typer.echo(packed(make_pack(settings, days, out, sample=sample, seed=seed)))


@restatements_app.command("list")
def restatements_list(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that were posted, or whose day was reopened.")
    ] = False,
    config: Config = None,
) -> None:
    """List the open restatements, as recorded in the ledger."""
    from pipelines.finance import restating
    from pipelines.report.closing import restatements

    typer.echo(restatements(restating.recorded(load_settings(config), everything=everything)))


@restatements_app.command("post")
def restatements_post(
    *,
    period: Annotated[str, typer.Option(metavar="NAME", help="The period that they are posted to, such as 2026-11.")],
    config: Config = None,
) -> None:
    """Freeze the open restatements by posting them to a period.

    Exit codes: 0 posted, or none was open; 2 no such period; 4 a run holds the lock.
    """
    from pipelines.finance import restating
    from pipelines.finance.periods import period_of
    from pipelines.ingest.lock import run_lock
    from pipelines.report.closing import posted

    settings = load_settings(config)
    name = period_of(settings, period).name or period
    with run_lock(settings.data_dir, "ordermart restatements post"):
        typer.echo(posted(restating.post(settings, name)))
