"""The commands about the partner service and what came from it.

Its settings, files, webhooks and stand-in: init, land, source, webhooks, sandbox, questions, contract. Figures of a
release, for people and assistants, and tables of one's own: explain, mcp, models.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from pipelines.cli.options import Commands, Locked, group, leave, say, usage_error
from pipelines.sandbox.__main__ import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipelines.ledger.entries import User
    from pipelines.settings import Settings
    from pipelines.warehouse.own import Tried

app = Commands()
files_app = group(app, "land", "Land documents from files, validated like fetched ones.")
source_app = group(app, "source", "Follow a partner service to another address.")
webhooks_app = group(app, "webhooks", "Receive webhooks; list and reprocess undecodable ones.")
sandbox_app = group(app, "sandbox", "Run the sandbox, a stand-in partner service.")
figures = group(app, "explain", "Explain figures of the current release.")
models = group(app, "models", "Write and try tables of your own: own.<name>.")
sandbox_app.command("serve", short_help="Serve a generated partner service on loopback.")(serve)

# Arguments and options of the commands below.
_FILES = "Files or quoted patterns, also gzipped. One menu per file; stores, orders: a JSON array, or one per line."
_OBSERVED = "When the service returned these documents, UTC. Without it they never replace a fetched one."
_WHEN = "JSON pointer to that time in each document, such as /exported_at."
_WRAPPED = "JSON pointer to the documents inside a wrapper, such as /data/orders."
_IN_PARTS = "Land a long archive in parts: resumes after a kill, raises no alarms."
Documents = Annotated[list[Path], Argument(help=_FILES)]
ObservedAt = Annotated[datetime | None, Option(help=_OBSERVED)]
ObservedAtPointer = Annotated[str, Option(metavar="PTR", help=_WHEN)]
DocumentsPointer = Annotated[str, Option(metavar="PTR", help=_WRAPPED)]
Backfill = Annotated[bool, Option("--backfill", help=_IN_PARTS)]
Old = Annotated[str, Argument(metavar="OLD", help="Address that the data came from.")]
New = Annotated[str, Argument(metavar="NEW", help="Address now in [partner] base_url.")]
Host = Annotated[str, Option(help="Address to listen on; default: [webhooks] host.")]
Port = Annotated[int | None, Option(min=0, max=65535, help="Port, 0 for any free one; default: [webhooks] port.")]
SettingsFile = Annotated[Path, Argument(dir_okay=False, help="Settings file to write or complete, such as shop.toml.")]
BaseUrl = Annotated[str, Option(metavar="URL", help="Address of the service; asked for if left out.")]
ClientId = Annotated[str, Option(help="The client_id; asked for if left out.")]
Sets = Annotated[
    list[str] | None, Option("--set", metavar="KEY=VALUE", help="An answer, such as list_stores.path=/stores.")
]
OrderId = Annotated[int, Option(metavar="ID", help="An order: it decides which number is a store's id.")]
OrderIds = Annotated[
    Path | None, Option(exists=True, dir_okay=False, help="File of order ids; their statuses propose sales.")
]
Stores = Annotated[int, Option(metavar="N", help="How many stores there are, if the list does not say.")]
SecondFolder = Annotated[
    Path | None, Option(file_okay=False, help="Folder elsewhere that keeps the ledger's signed head: [ledger] witness.")
]
Markdown = Annotated[bool, Option("--markdown", help="Write a letter to the partner, in Markdown.")]
Dbt = Annotated[bool, Option("--dbt", help="Write the release's tables as sources.yml of dbt.")]
ContractFile = Annotated[Path | None, Argument(dir_okay=False, help="Output file; default: standard output.")]
TimeoutSeconds = Annotated[int, Option("--timeout-seconds", min=1, help="Time limit of one query, in seconds.")]
MemoryMib = Annotated[int, Option("--memory-mib", min=64, help="Memory limit of one query, in MiB.")]
MaxRows = Annotated[int, Option("--max-rows", min=1, help="Row limit of one answer.")]
Name = Annotated[str, Argument(metavar="NAME", help="The table's name; the file is NAME.sql.")]


def _add_command(kind: str, documents: str) -> None:
    """Add the command that lands files of one kind."""

    @files_app.command(
        kind,
        help=f"Land {documents} from files supplied by the partner.\n\nExit codes: 0 landed; 1 a file cannot be read; "
        "2 invalid settings or usage; 3 every document was rejected; 4 another process holds the run lock.",
    )
    def land(
        files: Documents,
        *,
        observed_at: ObservedAt = None,
        observed_at_pointer: ObservedAtPointer = "",
        documents_pointer: DocumentsPointer = "",
        backfill: Backfill = False,
        settings: Settings,
        locked: Locked,
    ) -> None:
        from pipelines.landing.archives import LandingRequest, land_files
        from pipelines.landing.archives import backfill as land_in_parts
        from pipelines.landing.customers import settle_customers
        from pipelines.report.outcomes import backfilled, landed
        from pipelines.vault import open_vault

        asked = LandingRequest(files, observed_at, observed_at_pointer, documents_pointer)
        if observed_at and observed_at_pointer:
            raise usage_error("--observed-at and --observed-at-pointer exclude each other: give one of them")
        with locked(f"ordermart land {kind}") as progress, open_vault(settings) as vault:
            settle_customers(settings)
            if backfill:
                done = land_in_parts(settings, vault, kind, asked, progress=progress)
                say(backfilled(done))
                verdicts: Mapping[str, int] = done.verdicts
            else:
                summary = land_files(settings, vault, kind, asked, progress)
                say(landed(summary))
                verdicts = summary.counts
        # What was landed before, and skipped now, has no verdict.
        good = verdicts.get("accepted") or verdicts.get("unchanged")
        leave(is_open=verdicts.get("quarantined") and not good)


for _kind, _documents in {"orders": "orders", "menus": "menus", "stores": "store records"}.items():
    _add_command(_kind, _documents)


@files_app.command("reprocess", short_help="Validate quarantined documents again.")
def land_reprocess(*, settings: Settings, locked: Locked) -> None:
    """Validate quarantined documents again, by the settings of today."""
    from pipelines.landing.reprocess import reprocess_quarantine
    from pipelines.report.outcomes import landed
    from pipelines.vault import open_vault

    with locked("ordermart land reprocess"), open_vault(settings) as vault:
        summaries = reprocess_quarantine(settings, vault)
    if not summaries:
        typer.echo("There is nothing to reprocess.")
    for summary in summaries:
        say(landed(summary))


@source_app.command("move", short_help="Accept another address of the same service.")
def source_move(old: Old, new: New, *, user: User, settings: Settings) -> None:
    """Accept NEW as the address of the service that the data came from, after comparing documents of both.

    The newest ten documents of each kind are requested at NEW and OLD. Those at NEW must have the id, store and
    creation that are held; OLD may be gone. The move is recorded in the ledger.

    Exit codes: 0 moved; 1 NEW is another service, nothing is changed; 2 the settings or the data name other addresses.
    """
    from pipelines.ingest.loop import move_source

    done = move_source(settings, old, new, user)
    typer.echo(f"Moved: {new} has {done.at_new} of {done.held} documents as held; {old} answers {done.at_old}.")


@webhooks_app.command("serve")
def webhooks_serve(*, host: Host = "", port: Port = None, settings: Settings) -> None:
    """Receive webhook deliveries until stopped (Ctrl-C or SIGTERM).

    Run it as a process of its own. A delivery is answered with 2xx only once it is on the disk; the next run, or the
    sensor of `ordermart dev` within a minute, fetches the document that it names.
    """
    from pipelines.inbox.receiver import serve_webhooks
    from pipelines.run.reporting import keep_looking

    keep_looking(settings)
    serve_webhooks(settings, host or None, port)


@webhooks_app.command("undecodable")
def webhooks_undecodable(*, settings: Settings) -> None:
    """List undecodable deliveries, without their bodies.

    Each has its number, time, reason, and whether its body is kept in the vault.
    """
    from pipelines.inbox.store import inbox_path, undecodable
    from pipelines.report.outcomes import undecodable_list

    say(undecodable_list(undecodable(inbox_path(settings.data_dir))))


@webhooks_app.command("reprocess", short_help="Decode undecodable deliveries again.")
def webhooks_reprocess(*, settings: Settings) -> None:
    """Decode undecodable deliveries again, after a correction of [webhooks].

    The ids of those that can now be decoded are put on the work list.
    """
    from pipelines.inbox.store import inbox_path, reprocess_deliveries
    from pipelines.report.outcomes import reprocessed
    from pipelines.vault import open_vault

    with open_vault(settings) as vault:
        done = reprocess_deliveries(settings.webhooks, inbox_path(settings.data_dir), vault.refused.body)
        typer.echo(reprocessed(*done))


_FLAGS = {"partner.base_url": "--base-url", "partner.client_id": "--client-id", "--stores": "--stores N"}
_LISTS = {"sales.counted_statuses", "sales.excluded_statuses", "partner.store.menu_id_pointers"}


@app.command(short_help="Find out how a service answers, and write its settings.")
def init(
    file: SettingsFile,
    *,
    base_url: BaseUrl = "",
    client_id: ClientId = "",
    sets: Sets = None,
    order_id: OrderId = 0,
    order_ids: OrderIds = None,
    stores: Stores = 0,
    second_folder: SecondFolder = None,
) -> None:
    """Find out how a service answers, prove it, and write a settings file, the vault's keys and the client secret.

    Requests a token, stores, menus and the orders named; sends the secret at most four times. On a file that exists it
    fills in only what does not work. Each answer has its evidence as a comment; what cannot be proven is asked for;
    without a terminal all open questions are listed at once.

    Exit codes: 0 written, and proven; 2 an answer is invalid, or address or credentials are missing; 3 written, with
    something still open.
    """
    from shlex import quote

    from pipelines.examining.first import InitAnswers, make_settings
    from pipelines.examining.login import OpenAnswerError
    from pipelines.ingest.loop import ids_of_file

    answers = dict(_pairs(sets or []))
    said = {"partner.base_url": base_url, "partner.client_id": client_id}
    answers |= {key: value for key, value in said.items() if value}
    answers |= {"ledger.witness": str(second_folder.resolve())} if second_folder else {}
    orders = [*([order_id] if order_id else []), *(ids_of_file(order_ids) if order_ids else ())]

    def ask(key: str, question: str) -> str:
        if key in answers:
            return ", ".join(map(str, answers[key])) if key in _LISTS else str(answers[key])
        if not sys.stdin.isatty():
            flag = _FLAGS.get(key, f"--set {key}=…")
            variable = "" if key.startswith("--") or key in _LISTS else f"ORDERMART_{key.upper().replace('.', '__')}"
            given = " or ".join(each for each in ("" if key == "partner.client_secret" else flag, variable) if each)
            raise OpenAnswerError(f"{question}: there is no terminal to ask on; give {given}")
        is_secret = key == "partner.client_secret"
        return str(typer.prompt(question, default="", show_default=False, hide_input=is_secret))

    again = f"--order-ids {quote(str(order_ids))}" if order_ids else f"--order-id {order_id}" if order_id else ""
    lines, is_proven = make_settings(file, InitAnswers(answers, tuple(orders), stores, again), ask, dict(os.environ))
    say(lines)
    leave(is_open=not is_proven)


def _pairs(sets: list[str]) -> Iterator[tuple[str, Any]]:
    for each in sets:
        key, sign, value = each.partition("=")
        if not sign:
            raise usage_error(f"--set {each}: write KEY=VALUE")
        known = key if key.split(".")[0] in {"partner", "business_day", "finance", "sales"} else f"partner.{key}"
        try:
            answer = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            answer = [word.strip() for word in value.split(",")] if known in _LISTS else value
        yield known, [str(answer)] if known in _LISTS and not isinstance(answer, list) else answer


@app.command(short_help="List open questions about the partner's interface.")
def questions(*, markdown: Markdown = False, settings: Settings) -> None:
    """List open questions about the interface, with assumption, evidence and the number of orders affected.

    Evidence comes from the current release (audit.questions), assumptions from the current settings. Answers of
    [partner] that nobody gave come first, each with the command that finds it.
    Exit codes: 0 shown; 1 there is no release yet; 2 invalid settings.
    """
    from pipelines.report.interface import open_answers
    from pipelines.report.interface import questions as listing

    if not markdown:
        say(open_answers(settings))
    typer.echo(listing(settings, markdown=markdown))


@app.command(short_help="Show the interface's fields, documented and observed.")
def contract(*, dbt: Dbt = False, file: ContractFile = None, settings: Settings) -> None:
    """Show every field of the interface as documented and as observed, with types, nulls and counts.

    Reads the current release. For dbt-duckdb, attach its file as ordermart; docs/MODELS.md has a project.
    Exit codes: 0 shown; 1 there is no release yet; 2 invalid settings.
    """
    from pipelines.report import interface as report

    text = report.dbt(settings) if dbt else report.fields(settings) + "\n"
    if file is None:
        typer.echo(text, nl=False)
    else:
        file.write_text(text, encoding="utf-8")


def _order_id(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an order id (a whole number)") from None


@figures.command("order", short_help="Print the receipt of one order.")
def explain_order(
    order_id: Annotated[int, Argument(help="The order's id.", parser=_order_id)], *, settings: Settings
) -> None:
    """Print an order's receipt: each amount with its JSON pointer, each sum written out.

    Personal data is never decrypted. Exit codes: 0 printed; 1 the current release lacks the order (prints what the work
    list and audit.quarantine know of it) or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report import explain

    say(explain.explain_order(settings, order_id))


@figures.command("payout", short_help="Print what a payout consists of.")
def explain_payout(
    payout: Annotated[str, Argument(help="The payout, as statements and bank name it.")], *, settings: Settings
) -> None:
    """Print a payout: what the bank has, the components that it adds up to, and how its rows are matched.

    Exit codes: 0 printed; 1 nothing names the payout, or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report.settlement_views import explain_payout as explained

    say(explained(settings, payout))


@app.command(short_help="Serve the release, read-only, to an assistant (MCP).")
def mcp(
    *, timeout_seconds: TimeoutSeconds = 30, memory_mib: MemoryMib = 1024, max_rows: MaxRows = 1000, settings: Settings
) -> None:
    """Serve the current release, read-only, to an assistant that speaks the Model Context Protocol.

    The assistant starts this command and talks to it over standard input and output. Its tools read the dictionary,
    example queries, open questions and single orders, and run selects within the limits. The vault is never opened.
    Needs the extra: pip install 'ordermart[mcp]'. Exit codes: 0 the client has closed; 2 invalid settings or usage, or
    the extra is missing.
    """
    from pipelines.report.mcp_server import Limits, server

    protocol = getattr(sys.stdout, "terminal", sys.stdout)  # JSON, which escapes control characters by itself
    with contextlib.redirect_stdout(protocol):
        server(settings, Limits(timeout_seconds, memory_mib, max_rows)).run("stdio")  # until the client closes


@models.command("new", short_help="Write a model to begin with.")
def new(name: Name, *, settings: Settings) -> None:
    """Write NAME.sql, with its head, into [models] dir: change it, and try it with `ordermart models check`.

    If docs/models ships a model of this name, such as customers, that is copied, with its checks.

    Exit codes: 0 written; 2 there is one of this name, or it cannot be the name of a table.
    """
    from pipelines.warehouse.own import new_model

    say([f"Wrote {new_model(settings, name)}: edit it, then `ordermart models check`."])


@models.command("check", short_help="Make every model as a build does.")
def check(*, settings: Settings) -> None:
    """Make every model of the current release as a build does, and name problems and types of columns.

    Nothing is published. Exit codes: 0 all are right; 2 invalid settings, or there is no release; 3 some are wrong.
    """
    from pipelines.warehouse.own import check_models

    _show([*check_models(settings)], "right", "There is no model: `ordermart models new NAME` writes one.")


@models.command("test", short_help="Run models on the rows of their .test.txt files.")
def run_tests(*, settings: Settings) -> None:
    """Run each model that has NAME.test.txt beside it on the rows given there, and compare with those expected.

    Exit codes: 0 all rows are as expected; 2 invalid settings; 3 some are not.
    """
    from pipelines.warehouse.own import run_tests as tried

    _show([*tried(settings)], "as expected", "There is no NAME.test.txt beside a model: docs/MODELS.md has one.")


def _show(found: list[Tried], good: str, nothing: str) -> None:
    from pipelines.literals import one_line

    for each in found:
        lines = (f"{each.name}: {each.wrong or good}", *(f"  {line}" for line in each.said))
        say(map(one_line, lines))
    if not found:
        say([nothing])
    leave(is_open=any(each.wrong for each in found))
