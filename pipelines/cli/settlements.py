"""The commands from orders to the books: journal, settlements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pipelines.cli.options import Commands, Locked, given, group, leave, say, usage_error

if TYPE_CHECKING:
    from pipelines.ledger import User
    from pipelines.settings import Settings

app = Commands()
statements = group(app, "settlements", "Import and match statements, payouts and bank files.")

# Arguments and options of the commands below.
File = Annotated[Path, Argument(metavar="FILE", help="A file; of statements also a folder.")]
Mapping = Annotated[
    Path, Option("--map", metavar="MAPPING", help="The mapping of its columns, TOML; of camt.053 only [bank] payout.")
]
Bank = Annotated[bool, Option("--bank", help="The file is a bank's: CSV, or camt.053.")]
Again = Annotated[bool, Option("--supersede", help="Replace statements, or days of the bank, that were imported.")]
EntryNo = Annotated[int, Argument(metavar="ENTRY", help="The ledger entry, as `import` printed it.")]
Reason = Annotated[str, Option(help="Why; recorded in the ledger.")]
Unknown = Annotated[
    bool, Option("--unknown-orders", help="Only ids that no order has, a line each, for `run --order-ids`.")
]
Period = Annotated[str, Option("--period", metavar="NAME", help="A month such as 2026-10, or a period.")]
Check = Annotated[bool, Option("--check", help="Only check; without --period all periods.")]
Accounts = Annotated[Path | None, Option("--map", help="Your accounts and taxes, TOML: docs/BOOKS.md.")]
ExportFormat = Annotated[str, Option("--format", metavar="FORM", help="csv, netsuite, xero or beancount.")]
Out = Annotated[Path | None, Option(help="The folder of the files.")]
Draft = Annotated[bool, Option("--draft", help="Include open days; each line says DRAFT.")]
Without = Annotated[
    list[str] | None, Option(metavar="DAY:STORE", help="Leave a store's day out: 2026-10-31:12. Repeatable.")
]


@statements.command("keys", short_help="Find the ids of our orders in a file, and propose a mapping.")
def settlements_keys(file: Annotated[Path, Argument(help="A platform's file, CSV.")], *, settings: Settings) -> None:
    """Say of each column how many values are ids of orders, and how many of their rows have store, day and amount.

    The right one for `[line] order` is the one whose rows have them; of imported rows workings.settlement_keys says so.
    Then propose a mapping from the first rows, with what it could not tell.

    Exit codes: 0 printed; 1 the file cannot be read, or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report.settlement_views import keys

    say(keys(settings, file))


@statements.command("import", short_help="Import statements, or a bank's file, by a mapping.")
def settlements_import(
    path: File, *, mapping: Mapping, bank: Bank = False, supersede: Again = False, settings: Settings, locked: Locked
) -> None:
    """Import a platform's statements or a bank's file into the ledger; the next build matches them with orders.

    A file is imported whole or not at all. Columns that the mapping does not name are not kept. A bank's file needs it,
    too: nothing else says which credits are the platform's, and which payout a credit is of. Exit codes: 0 imported;
    1 the file is refused, by row and column, or was imported before; 2 an invalid mapping or usage; 4 another process
    holds the run lock.
    """
    from pipelines.ledger.signed_head import signing_ledger
    from pipelines.report.settlement_views import imported
    from pipelines.settlements.importing import import_bank, import_statements
    from pipelines.settlements.mapping import read_mapping

    read = read_mapping(mapping)
    with locked("ordermart settlements import"):
        chain = signing_ledger(settings)
        if bank:
            done = [import_bank(chain, path, read, supersede=supersede)]
        else:
            done = import_statements(chain, path, read, supersede=supersede)
    say(imported(done))


@statements.command("undo", short_help="Undo an import.")
def settlements_undo(entry_no: EntryNo, *, reason: Reason, user: User, settings: Settings, locked: Locked) -> None:
    """Undo an import by an entry of the ledger: what it superseded is in force again, and its file can be imported.

    Exit codes: 0 undone; 1 the entry is not an import, or was undone before; 2 invalid usage; 4 another process holds
    the run lock.
    """
    from pipelines.ledger.signed_head import signing_ledger
    from pipelines.settlements.importing import undo_import

    why = given("--reason", reason, "text")
    with locked("ordermart settlements undo"):
        done = undo_import(signing_ledger(settings), entry_no, why, user)
    say([f"Undid ledger entry {entry_no} by entry {done.no}; `ordermart build` makes the tables without it."])


@statements.command("aging", short_help="List open items by platform, kind and age.")
def settlements_aging(*, settings: Settings) -> None:
    """List the open items of orders by platform, kind and age; together they are each platform's receivable.

    Exit codes: 0 printed; 1 there is no release; 2 invalid settings.
    """
    from pipelines.clock import utc_now
    from pipelines.report.settlement_views import aging

    say(aging(settings, utc_now().date()))


@statements.command("list", short_help="List statements, payouts and open items.")
def settlements_list(*, unknown: Unknown = False, settings: Settings) -> None:
    """List the statements and payouts of the current release, what orders and lines leave open, and the open breaks.

    Exit codes: 0 there is no open break; 1 there is no release; 2 invalid settings; 3 something is open.
    """
    from pipelines.report.settlement_views import list_settlements, unknown_orders

    if unknown:
        say(unknown_orders(settings))
        return
    lines, is_open = list_settlements(settings)
    say(lines)
    leave(is_open=is_open)


@app.command(short_help="Write a period's journal for your accounting system.")
def journal(
    *,
    period: Period = "",
    check: Check = False,
    accounts: Accounts = None,
    export_format: ExportFormat = "csv",
    out: Out = None,
    draft: Draft = False,
    without: Without = None,
    user: User,
    settings: Settings,
    locked: Locked,
) -> None:
    """Write the entries of a period, by store, day and currency, and record the export in the ledger.

    Only closed days are written: of each entry the difference to what was exported; the files of earlier exports are
    made again, the same bytes. Exit codes: 0 written, or nothing to write; 1 it differs from the books or from the
    accounts of an earlier export; 2 invalid usage; 3 a store's day is stopped, with its order, and nothing is written;
    4 another process holds the run lock.
    """
    from pipelines.finance.exporting import check as checked
    from pipelines.finance.exporting import export, parse_store_days
    from pipelines.finance.journal import EXPORT_FORMATS
    from pipelines.finance.released import period_of
    from pipelines.report.finance_views import journal_lines

    if check:
        found = checked(settings, period, accounts)
        say(line for each in found for line in journal_lines(each))
        journals = [each.journal for each in found]
        leave(is_open=any(each.stops for each in journals), has_failed=any(each.differences for each in journals))
    if not (period and accounts and out) or export_format not in EXPORT_FORMATS:
        raise usage_error(f"give --check, or --period, --map, --out and a --format of {', '.join(EXPORT_FORMATS)}")
    with locked("ordermart journal"):
        of, left_out = period_of(settings, period), parse_store_days(without or ())
        done = export(settings, of, accounts, export_format, out, draft=draft, left_out=left_out, user=user)
    say(journal_lines(done))
    leave(is_open=done.is_stopped)
