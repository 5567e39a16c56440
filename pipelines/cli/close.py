"""`ordermart close`, `ordermart audit-pack` and `ordermart restatements`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from pipelines.cli.options import As, Config, given, load_settings, usage_error

if TYPE_CHECKING:
    from pipelines.finance.periods import Period
    from pipelines.settings import Settings

Store = Annotated[int | None, typer.Option("--store", help="Only this store's day.")]


Day = Annotated[str, typer.Argument(metavar="[DAY]", help="The business day, such as 2026-10-31.")]
PeriodName = Annotated[
    str,
    typer.Option(
        "--period", metavar="NAME", help="Instead of a day: a month, 2026-10, or a period of closing.periods_file."
    ),
]


def _days(settings: Settings, day: str, period: str) -> Period:
    """Return the days that a command is about; exactly one of both is given."""
    from pipelines.finance.periods import one_day, period_of

    if bool(day) == bool(period):
        raise usage_error("give either a day such as 2026-10-31, or --period such as 2026-10")
    return one_day(day) if day else period_of(settings, period)


class _DayFirst(TyperGroup):
    """A group that passes anything but a subcommand, such as a day, to the command `day`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `day` before arguments that do not start with a subcommand."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            args = ["day", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_DayFirst,
    no_args_is_help=True,
    short_help="Close, approve and reopen business days.",
    help="Close business days: `ordermart close 2026-10-31`, `ordermart close --period 2026-10`; "
    "`ordermart close day --help` lists the options.",
)
restatements_app = typer.Typer(help="List and post changes to closed days.", no_args_is_help=True)


@app.command("day", short_help="Close a business day or a period.")
def close_day(
    day: Day = "",
    *,
    period: PeriodName = "",
    store: Store = None,
    check: Annotated[bool, typer.Option("--check", help="Only list the blockers, if it is not closed.")] = False,
    with_exceptions: Annotated[
        str,
        typer.Option(metavar="REASON", help="Close despite blockers; both are recorded."),
    ] = "",
    name: As = "",
    config: Config = None,
) -> None:
    """Close a business day, or a period, of the current release: `ordermart close 2026-10-31`.

    With `[closing] approver = "another"` it is only prepared: `ordermart close approve` by another system user closes
    it. Exit codes: 0 closed or prepared, or no blockers; 1 it cannot be closed, such as a day that is already closed; 2
    invalid usage; 3 not closed because of blockers, listed one per line; 4 another process holds the run lock.
    """
    from pipelines.finance import closing
    from pipelines.ingest.lock import run_lock
    from pipelines.ledger.decisions import current_user
    from pipelines.report.closes_and_breaks import closed, format_blockers

    settings = load_settings(config)
    exceptions = given("--with-exceptions", with_exceptions) if with_exceptions else ""
    days = _days(settings, day, period)
    if check:
        is_closed = closing.is_period_closed(settings, days, store)
        blockers = [] if is_closed else closing.check(settings, days, store)
        typer.echo(format_blockers(days, blockers, is_closed=is_closed))
        raise typer.Exit(3 if blockers else 0)
    with run_lock(settings.data_dir, "ordermart close"):
        done = closing.close(settings, days, store, exceptions=exceptions, user=current_user(name))
    typer.echo(closed(days, done))
    raise typer.Exit(0 if done.entry else 3)


@app.command("approve", short_help="Close what another system user prepared.")
def close_approve(
    day: Day = "",
    *,
    period: PeriodName = "",
    store: Store = None,
    name: As = "",
    config: Config = None,
) -> None:
    """Close what another system user prepared with `ordermart close`, if its orders are still the same.

    Exit codes: 0 closed; 1 it is not prepared, it was prepared by this user, or it has changed since; 2 invalid usage;
    3 not closed because of blockers; 4 another process holds the run lock.
    """
    from pipelines.finance import closing
    from pipelines.ingest.lock import run_lock
    from pipelines.ledger.decisions import current_user
    from pipelines.report.closes_and_breaks import closed

    settings = load_settings(config)
    days = _days(settings, day, period)
    with run_lock(settings.data_dir, "ordermart close approve"):
        done = closing.approve(settings, days, store, user=current_user(name))
    typer.echo(closed(days, done))
    raise typer.Exit(0 if done.entry else 3)


@app.command("accept-no-orders", short_help="Accept that stores have no orders on a day.")
def close_accept_no_orders(
    day: Day = "",
    *,
    period: PeriodName = "",
    reason: Annotated[str, typer.Option(help="Why there are none; recorded in the ledger.")],
    store: Store = None,
    name: As = "",
    config: Config = None,
) -> None:
    """Accept that stores have no orders on a day that usually has some: it no longer blocks a close.

    Without --store, of every store that `ordermart close --check` lists. Exit codes: 0 accepted; 1 there is nothing to
    accept; 2 invalid usage.
    """
    from pipelines.finance.blockers import accept_no_orders
    from pipelines.ledger.decisions import current_user

    settings = load_settings(config)
    why = given("--reason", reason)
    entry = accept_no_orders(settings, _days(settings, day, period), store, why, current_user(name))
    typer.echo(f"Accepted {len(entry.body['days']):,} store-days without orders as ledger entry {entry.no}.")


@app.command("reopen")
def close_reopen(
    day: Annotated[str, typer.Argument(help="The business day, such as 2026-10-31.")],
    *,
    reason: Annotated[str, typer.Option(help="Why the day is reopened; recorded in the ledger.")],
    store: Store = None,
    name: As = "",
    config: Config = None,
) -> None:
    """Reopen a closed day; it can be closed again later.

    Its posted restatements are reversed in the period that holds them or, if that is closed, in the earliest open one
    after it: once closed again, the day contains them.

    Exit codes: 0 reopened; 1 it is not closed, or no period is open to reverse them in; 4 another process holds the run
    lock.
    """
    from pipelines.finance import closing
    from pipelines.finance.periods import one_day
    from pipelines.ingest.lock import run_lock
    from pipelines.ledger.decisions import current_user
    from pipelines.report.closes_and_breaks import reopened

    settings = load_settings(config)
    why = given("--reason", reason)
    with run_lock(settings.data_dir, "ordermart close reopen"):
        done = closing.reopen(settings, one_day(day).first_day, store, why, current_user(name))
    typer.echo(reopened(done))


audit_pack_app = typer.Typer()


@audit_pack_app.command("audit-pack", short_help="Write the evidence of a period for auditors.")
def audit_pack(
    *,
    period: Annotated[
        str, typer.Option(metavar="NAME", help="A month such as 2026-10, a day, or a period of closing.periods_file.")
    ],
    out: Annotated[Path, typer.Option(help="A new folder.")],
    sample: Annotated[int, typer.Option(min=0, help="Number of orders to write receipts for.")] = 25,
    seed: Annotated[int, typer.Option(help="Seed of the random sample.")] = 1,
    config: Config = None,
) -> None:
    """Write an audit pack: closes, restatements, formula evidence, control totals, receipts and a verifier.

    The pack contains no personal data and no secrets. `python3 -I verify.py` in it checks every hash and the chain.
    """
    from pipelines.finance.periods import period_or_day
    from pipelines.report.audit_pack import make_pack
    from pipelines.report.closes_and_breaks import packed

    settings = load_settings(config)
    days = period_or_day(settings, period)
    typer.echo(packed(make_pack(settings, days, out, sample=sample, seed=seed)))


@restatements_app.command("list")
def restatements_list(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Include posted restatements, and those of reopened days.")
    ] = False,
    config: Config = None,
) -> None:
    """List the unposted restatements."""
    from pipelines.finance import restating
    from pipelines.report.closes_and_breaks import restatements

    typer.echo(restatements(restating.recorded(load_settings(config), everything=everything)))


@restatements_app.command("post")
def restatements_post(
    *,
    period: Annotated[str, typer.Option(metavar="NAME", help="The open period to post to, such as 2026-11.")],
    name: As = "",
    config: Config = None,
) -> None:
    """Post the unposted restatements to an open period.

    Exit codes: 0 posted, or nothing to post; 1 the period is closed; 2 no such period; 4 another process holds the run
    lock.
    """
    from pipelines.finance import restating
    from pipelines.ingest.lock import run_lock
    from pipelines.ledger.decisions import current_user
    from pipelines.report.closes_and_breaks import posted

    settings = load_settings(config)
    with run_lock(settings.data_dir, "ordermart restatements post"):
        typer.echo(posted(restating.post(settings, period, current_user(name))))
