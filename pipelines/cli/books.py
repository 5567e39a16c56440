"""The commands of finance: close, restatements, audit-pack, reconcile, breaks, totals, ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from pipelines.cli.options import Commands, Locked, Since, Until, given, group, leave, say, usage_error

if TYPE_CHECKING:
    from pipelines.finance.released import BookPeriod
    from pipelines.ledger.entries import User
    from pipelines.settings import Settings

# Arguments and options of the commands below.
Store = Annotated[int | None, Option("--store", help="Only this store's day.")]
OneStore = Annotated[int | None, Option("--store", help="Limit to this store id.")]
Day = Annotated[str, Argument(metavar="[DAY]", help="The business day, such as 2026-10-31.")]
Breaks = Annotated[
    list[str], Argument(metavar="KEY...", help="Ids of orders, or keys of breaks as `settlements list` has them.")
]
_PERIOD = "Instead of a day: a month, 2026-10, or a period of closing.periods_file."
PeriodName = Annotated[str, Option("--period", metavar="NAME", help=_PERIOD)]
Check = Annotated[bool, Option("--check", help="Only list the blockers, if it is not closed.")]
_DESPITE = "Close despite blockers; KIND=REASON for a kind of them. Repeatable."
WithExceptions = Annotated[list[str] | None, Option(metavar="REASON", help=_DESPITE)]
WhyNone = Annotated[str, Option(help="Why there are none; recorded in the ledger.")]
ReopenedDay = Annotated[str, Argument(help="The business day, such as 2026-10-31.")]
WhyReopened = Annotated[str, Option(help="Why the day is reopened; recorded in the ledger.")]
PackPeriod = Annotated[
    str, Option(metavar="NAME", help="A month such as 2026-10, a day, or a period of closing.periods_file.")
]
Out = Annotated[Path, Option(help="A new folder.")]
Sample = Annotated[int, Option(min=0, help="Number of orders to write receipts for.")]
Seed = Annotated[int, Option(help="Seed of the random sample.")]
AllChanges = Annotated[bool, Option("--all", help="Include posted restatements, and those of reopened days.")]
PostPeriod = Annotated[str, Option(metavar="NAME", help="The open period to post to, such as 2026-11.")]
Xlsx = Annotated[Path | None, Option(dir_okay=False, help="Also write an Excel workbook to this file.")]
Html = Annotated[Path | None, Option(dir_okay=False, help="Also write a self-contained HTML page to this file.")]
AllOrders = Annotated[bool, Option("--all-orders", help="List all orders in the workbook, not only breaks.")]
AllBreaks = Annotated[bool, Option("--all", help="Include accepted breaks.")]
WhyAccepted = Annotated[str, Option(help="Why they are accepted; recorded in the ledger.")]
AccountClass = Annotated[
    str, Option(metavar="CLASS", help="The class of account that a journal writes the amount off to.")
]
Assignee = Annotated[str, Option("--to", metavar="NAME", help="That person's name; recorded in the ledger.")]
Text = Annotated[str, Option(help="The comment; recorded in the ledger.")]
File = Annotated[Path, Argument(help="CSV: business_date,store_id,order_count,amount,amount_field,sale_classes.")]
ExpectHead = Annotated[str, Option(metavar="HASH", help="Fail unless an entry has this hash: a head kept elsewhere.")]
Head = Annotated[str, Argument(metavar="[HASH]", help="The chain's last hash, kept elsewhere.")]
WhyNoHead = Annotated[str, Option(help="Why no kept head can be used; recorded in the ledger.")]


class _DayFirst(TyperGroup):
    """A group that passes anything but a subcommand, such as a day, to the command `day`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `day` before arguments that do not start with a subcommand."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            args = ["day", *args]
        return super().parse_args(ctx, args)


app = Commands()
closes = Commands(
    cls=_DayFirst,
    no_args_is_help=True,
    short_help="Close, approve and reopen business days.",
    help="Close business days: `ordermart close 2026-10-31`, `ordermart close --period 2026-10`; "
    "`ordermart close day --help` lists the options.",
)
restatements = group(app, "restatements", "List and post changes to closed days.")
breaks = group(app, "breaks", "List, accept, assign and comment on breaks.")
totals = group(app, "totals", "Import control totals.")
ledger = group(app, "ledger", "Check the hash-chained ledger, sign its head again.")
app.add_typer(closes, name="close")


def _keys(keys: list[str]) -> list[int | str]:
    """Return ids of orders and keys of breaks."""
    if unknown := next((key for key in keys if not key.isdecimal() and ":" not in key), None):
        raise usage_error(f"{unknown} is neither an order's id nor the key of a break such as line:1/2")
    return [int(key) if key.isdecimal() else key for key in keys]


def _days(settings: Settings, day: str, period: str) -> BookPeriod:
    """Return the days that a command is about; exactly one of both is given."""
    from pipelines.finance.released import one_day, period_of

    if bool(day) == bool(period):
        raise usage_error("give either a day such as 2026-10-31, or --period such as 2026-10")
    return one_day(day) if day else period_of(settings, period)


@closes.command("day", short_help="Close a business day or a period.")
def close_day(
    day: Day = "",
    *,
    period: PeriodName = "",
    store: Store = None,
    check: Check = False,
    with_exceptions: WithExceptions = None,
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Close a business day, or a period, of the current release: `ordermart close 2026-10-31`.

    With `[closing] approver = "another"` it is only prepared: `ordermart close approve` by another system user closes
    it. Exit codes: 0 closed or prepared, or no blockers; 1 it cannot be closed, such as a day that is already closed; 2
    invalid usage; 3 not closed because of blockers, listed one per line; 4 another process holds the run lock.
    """
    from pipelines.finance import closing
    from pipelines.finance.blockers import reasons_given
    from pipelines.report.finance_views import blockers, closed, span

    exceptions = reasons_given([given("--with-exceptions", each) for each in with_exceptions or ()])
    days = _days(settings, day, period)
    if check:
        if closing.is_period_closed(settings, days, store):
            say([f"Already closed: {span(days)}."])
            return
        judged = closing.check(settings, days, store)
        say(blockers(days, judged))
        leave(is_open=judged.against)
    with locked("ordermart close"):
        done = closing.close(settings, days, store, exceptions=exceptions, user=user)
    say(closed(days, done))
    leave(is_open=not done.entry)


@closes.command("approve", short_help="Close what another system user prepared.")
def close_approve(
    day: Day = "", *, period: PeriodName = "", store: Store = None, user: User, settings: Settings, locked: Locked
) -> None:
    """Close what another system user prepared with `ordermart close`, if its orders are still the same.

    Exit codes: 0 closed; 1 it is not prepared, it was prepared by this user, or it has changed since; 2 invalid usage;
    3 not closed because of blockers; 4 another process holds the run lock.
    """
    from pipelines.finance import closing
    from pipelines.report.finance_views import closed

    days = _days(settings, day, period)
    with locked("ordermart close approve"):
        done = closing.approve(settings, days, store, user=user)
    say(closed(days, done))
    leave(is_open=not done.entry)


@closes.command("accept-no-orders", short_help="Accept that stores have no orders on a day.")
def close_accept_no_orders(
    day: Day = "", *, period: PeriodName = "", reason: WhyNone, store: Store = None, user: User, settings: Settings
) -> None:
    """Accept that stores have no orders on a day that usually has some: it no longer blocks a close.

    Without --store, of every store that `ordermart close --check` lists. Exit codes: 0 accepted; 1 there is nothing to
    accept; 2 invalid usage.
    """
    from pipelines.finance.blockers import accept_no_orders

    why = given("--reason", reason)
    entry = accept_no_orders(settings, _days(settings, day, period), store, why, user)
    typer.echo(f"Accepted {len(entry.body['days']):,} store-days without orders as ledger entry {entry.no}.")


@closes.command("reopen")
def close_reopen(
    day: ReopenedDay, *, reason: WhyReopened, store: Store = None, user: User, settings: Settings, locked: Locked
) -> None:
    """Reopen a closed day; it can be closed again later.

    Its posted restatements are reversed in the period that holds them or, if that is closed, in the earliest open one
    after it: once closed again, the day contains them.

    Exit codes: 0 reopened; 1 it is not closed, or no period is open to reverse them in; 4 another process holds the run
    lock.
    """
    from pipelines.finance import closing
    from pipelines.finance.released import one_day
    from pipelines.report.finance_views import reopened

    why = given("--reason", reason)
    with locked("ordermart close reopen"):
        done = closing.reopen(settings, one_day(day).first_day, store, why, user)
    say(reopened(done))


@app.command("audit-pack", short_help="Write the evidence of a period for auditors.")
def audit_pack(*, period: PackPeriod, out: Out, sample: Sample = 25, seed: Seed = 1, settings: Settings) -> None:
    """Write an audit pack: closes, restatements, formula evidence, control totals, receipts and a verifier.

    The pack contains no personal data and no secrets. `python3 -I verify.py` in it checks every hash and the chain.
    """
    from pipelines.finance.released import period_or_day
    from pipelines.report.audit_pack import make_pack
    from pipelines.report.finance_views import packed

    say(packed(make_pack(settings, period_or_day(settings, period), out, sample=sample, seed=seed)))


@restatements.command("list")
def restatements_list(*, everything: AllChanges = False, settings: Settings) -> None:
    """List the unposted restatements."""
    from pipelines.finance import closing
    from pipelines.report.finance_views import restatements as listed

    say(listed(closing.ledger_restatements(settings, everything=everything)))


@restatements.command("post")
def restatements_post(*, period: PostPeriod, user: User, settings: Settings, locked: Locked) -> None:
    """Post the unposted restatements to an open period.

    Exit codes: 0 posted, or nothing to post; 1 the period is closed; 2 no such period; 4 another process holds the run
    lock.
    """
    from pipelines.finance import closing
    from pipelines.report.finance_views import posted

    with locked("ordermart restatements post"):
        say([posted(closing.post(settings, period, user))])


@app.command(short_help="Reconcile totals, lines and closed days.")
def reconcile(
    *,
    since: Since = "",
    until: Until = "",
    store: OneStore = None,
    xlsx: Xlsx = None,
    html: Html = None,
    all_orders: AllOrders = False,
    settings: Settings,
) -> None:
    """Reconcile the current release by day: totals with price fields, subtotals with lines, closed days with changes.

    Exit codes: 0 every order is balanced; 1 there is no release, or a file cannot be written; 2 invalid settings or
    usage; 3 not balanced (breaks, indeterminate orders, unposted restatements, control totals with a variance), or no
    order is selected.
    """
    from pipelines.finance.reconciliation import reconciliation
    from pipelines.finance.released import Selection, open_release
    from pipelines.report.finance_views import reconciliation_lines, write_page
    from pipelines.report.text import terminal_progress
    from pipelines.report.workbook import write_workbook

    selection = Selection.between(since, until, store)
    if all_orders and xlsx is None:
        raise usage_error("--all-orders needs --xlsx FILE: it lists all orders in the workbook")
    with open_release(settings) as release:
        reconciled = reconciliation(release, selection)
        say(reconciliation_lines(reconciled))
        if xlsx is not None:
            with terminal_progress() as progress:
                write_workbook(reconciled, xlsx, all_orders=all_orders, progress=progress)
            say([f"Workbook: {xlsx}"])
        if html is not None:
            write_page(reconciled, html)
            say([f"Page: {html}"])
        leave(is_open=not reconciled.assess().is_good)


@breaks.command("list", short_help="List the open breaks, the largest first.")
def breaks_list(
    *, since: Since = "", until: Until = "", store: OneStore = None, everything: AllBreaks = False, settings: Settings
) -> None:
    """List the open breaks of the current release by currency, the largest first, with assignee and comment."""
    from pipelines.finance.reconciliation import list_breaks
    from pipelines.finance.released import Selection
    from pipelines.report.finance_views import break_lines

    say(break_lines(list_breaks(settings, Selection.between(since, until, store)), everything=everything))


@breaks.command("accept", short_help="Accept breaks, with a reason.")
def breaks_accept(
    keys: Breaks, *, reason: WhyAccepted, account_class: AccountClass = "", user: User, settings: Settings
) -> None:
    """Accept breaks: neither `reconcile` nor a close fails on them unless one of their amounts changes.

    With --account-class also of breaks that were accepted without one. An order's price and its settlement are apart.

    Exit codes: 0 accepted; 1 a key is not an open break, and nothing was accepted; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import accept_breaks
    from pipelines.report.finance_views import accepted_breaks

    done = accept_breaks(settings, _keys(keys), given("--reason", reason, "text"), user, account_class.strip())
    say(accepted_breaks(done))


@breaks.command("assign")
def breaks_assign(keys: Breaks, *, assignee: Assignee, user: User, settings: Settings) -> None:
    """Assign breaks to a person.

    Exit codes: 0 recorded; 1 a key is not a break, and nothing was recorded; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import assign_breaks

    done = assign_breaks(settings, _keys(keys), given("--to", assignee, "text"), user)
    say([f"Assigned {len(done.body['keys']):,} to {done.body['assignee']} as ledger entry {done.no}."])


@breaks.command("comment", short_help="Record a comment on breaks.")
def breaks_comment(keys: Breaks, *, text: Text, user: User, settings: Settings) -> None:
    """Record a comment on breaks; write no personal data: entries are never erased.

    Exit codes: 0 recorded; 1 a key is not a break, and nothing was recorded; 2 invalid usage.
    """
    from pipelines.finance.reconciliation import comment_on_breaks

    done = comment_on_breaks(settings, _keys(keys), given("--text", text, "text"), user)
    say([f"Commented on {len(done.body['keys']):,} as ledger entry {done.no}."])


@totals.command("import", short_help="Import control totals from a CSV file.")
def totals_import(file: File, *, settings: Settings) -> None:
    """Import control totals from a CSV file; the next build compares them with the actual totals.

    Columns: business_date (2026-10-31), store_id, order_count and amount (either may be empty), amount_field
    (total_price, subtotal_price, …) and sale_classes (all, or some of counted, excluded, unmapped, deleted joined by
    +). A later total for the same date, store, amount_field and sale_classes replaces the earlier one.
    """
    from pipelines.ledger import import_totals
    from pipelines.ledger.signed_head import signing_ledger

    done = import_totals(signing_ledger(settings), file)
    replaced = f", replacing {done.replaced:,} earlier ones" if done.replaced else ""
    what = f"Imported {done.totals:,} control totals as ledger entry {done.entry_no}{replaced}"
    typer.echo(f"{what}. The next `ordermart run` or `ordermart build` compares them: see audit.control_totals.")


@ledger.command("verify", short_help="Verify the ledger and print its head.")
def ledger_verify(*, expect_head: ExpectHead = "", settings: Settings) -> None:
    """Verify every entry and row file of the ledger, and print its head; keep a copy of the head elsewhere.

    The chain must go on from the heads in the inventory, in the vault and in [ledger] witness. Exit codes: 0 the ledger
    is intact; 1 it is not, no entry has HASH, or a head is of another chain or key, or is gone. Entries with a time
    before the last one's, or ahead of the clock, are named; they are kept, and the exit code stays 0.
    """
    from pipelines.ledger import ledger_of, verify
    from pipelines.ledger.signed_head import checked_heads
    from pipelines.report.finance_views import verified

    chain = ledger_of(settings.data_dir)
    done = verify(chain, expect_head)
    say([*verified(done), *checked_heads(settings, chain)])


@ledger.command("accept-head", short_help="Sign the ledger's head again, after its last hash was confirmed.")
def ledger_accept_head(head: Head = "", *, reason: WhyNoHead, user: User, settings: Settings, locked: Locked) -> None:
    """Sign the ledger's head again where the kept one is lost, of an older version, or not of this chain.

    Only a copy of the last hash that was kept elsewhere proves that nobody changed the entries. Exit codes: 0 signed
    and recorded; 1 the chain is broken, HASH is not its last hash, or the vault's keys are missing; 2 invalid usage; 3
    without HASH: the last hash is shown, and nothing is signed; 4 another process holds the run lock.
    """
    from pipelines.ledger import ledger_of, verify
    from pipelines.ledger.signed_head import accept_head

    why = given("--reason", reason)
    if not head:
        found = verify(ledger_of(settings.data_dir))
        last = f"The last of {found.entries:,} entries has the hash {found.head}"
        say([f"{last}: if you kept it elsewhere, confirm it as HASH."])
        leave(is_open=True)
    with locked("ordermart ledger accept-head"):
        entry = accept_head(settings, head.strip().lower(), why, user)
    say([f"Signed the head of entry {entry.no - 1}, and recorded it as ledger entry {entry.no}."])
