"""The commands that show something: status, doctor, questions, contract, explain, mcp; and the user's own tables."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Commands, group, leave, say, usage_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings
    from pipelines.warehouse.own.trying import Tried

app = Commands()
figures = group(app, "explain", "Explain figures of the current release.")
models = group(app, "models", "Write and try tables of your own: own.<name>.")


@app.command(short_help="Show last run, release, queue, alarms, lock and disk.")
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for monitors.")] = False,
    settings: Settings,
) -> None:
    """Show the last run, the release, queued ids, alarms, the lock and disk space, without requests to the service.

    A run that was killed since is told first, as the next run would do: by an alarm and on the morning page.

    Exit codes: 0 the last good night is recent; 2 invalid settings; 3 it is older than [notify] max_age_hours, or there
    was none.
    """
    import json

    from pipelines.report.status import status as state_of
    from pipelines.report.status import status_lines
    from pipelines.run.under_way import look_for_dead_runs

    look_for_dead_runs(settings)
    state = state_of(settings)
    say([json.dumps(state, indent=1)] if as_json else status_lines(state))
    leave(is_open=state["is_stale"])


@app.command(short_help="Examine the installation and say what to fix.")
def doctor(*, settings: Settings) -> None:
    """Examine settings, secrets, disk, lock, daemon, receiver and the service; say what to fix. Changes nothing.

    Asks the service for a token, its stores, one menu and one order. Exit codes: 0 every part is ok; 1 a part fails;
    2 invalid settings; 3 there are warnings only.
    """
    from pipelines.report.doctor import examine, judge

    findings = []
    for finding in examine(settings):
        findings.append(finding)
        say([finding.line()])
    judged = judge(findings)
    leave(is_open=judged.unchecked, has_failed=judged.wrong)


@app.command(short_help="List open questions about the partner's interface.")
def questions(
    *,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a letter to the partner, in Markdown.")] = False,
    settings: Settings,
) -> None:
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
def contract(
    *,
    openapi: Annotated[bool, typer.Option("--openapi", help="Write an OpenAPI 3.1 document, in JSON.")] = False,
    dbt: Annotated[bool, typer.Option("--dbt", help="Write the release's tables as sources.yml of dbt.")] = False,
    file: Annotated[Path | None, typer.Argument(dir_okay=False, help="Output file; default: standard output.")] = None,
    settings: Settings,
) -> None:
    """Show every field of the interface as documented and as observed, with types, nulls and counts.

    Reads the current release. The OpenAPI document marks fields that are observed but not documented as x-observed.
    For dbt-duckdb, attach the release's file as ordermart; docs/MODELS.md has a project.
    Exit codes: 0 shown; 1 there is no release yet; 2 invalid settings.
    """
    from pipelines.report import interface as report

    text = report.dbt(settings) if dbt else report.openapi(settings) if openapi else report.fields(settings) + "\n"
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
    order_id: Annotated[int, typer.Argument(help="The order's id.", parser=_order_id)],
    *,
    settings: Settings,
) -> None:
    """Print an order's receipt: each amount with its JSON pointer, each sum written out.

    Personal data is never decrypted. Exit codes: 0 printed; 1 the current release lacks the order (prints what the work
    list and audit.quarantine know of it) or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report import explain

    say(explain.explain_order(settings, order_id))


@figures.command("payout", short_help="Print what a payout consists of.")
def explain_payout(
    payout: Annotated[str, typer.Argument(help="The payout, as statements and bank name it.")],
    *,
    settings: Settings,
) -> None:
    """Print a payout: what the bank has, the components that it adds up to, and how its rows are matched.

    Exit codes: 0 printed; 1 nothing names the payout, or there is no release; 2 invalid settings or usage.
    """
    from pipelines.report.settlements import explain_payout as explained

    say(explained(settings, payout))


@app.command(short_help="Serve the release, read-only, to an assistant (MCP).")
def mcp(
    *,
    timeout_seconds: Annotated[
        int, typer.Option("--timeout-seconds", min=1, help="Time limit of one query, in seconds.")
    ] = 30,
    memory_mib: Annotated[int, typer.Option("--memory-mib", min=64, help="Memory limit of one query, in MiB.")] = 1024,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Row limit of one answer.")] = 1000,
    settings: Settings,
) -> None:
    """Serve the current release, read-only, to an assistant that speaks the Model Context Protocol.

    The assistant starts this command and talks to it over standard input and output. Its tools read the dictionary,
    example queries, coverage, open questions and single orders, and run selects within the limits. The vault is never
    opened. Needs the extra: pip install 'ordermart[mcp]'. Exit codes: 0 the client has closed; 2 invalid settings or
    usage, or the extra is missing.
    """
    from pipelines.report.mcp_server import Limits, MissingPackageError, server

    protocol = getattr(sys.stdout, "terminal", sys.stdout)  # JSON, which escapes control characters by itself
    try:
        with contextlib.redirect_stdout(protocol):
            server(settings, Limits(timeout_seconds, memory_mib, max_rows)).run("stdio")  # until the client closes
    except MissingPackageError as error:
        raise usage_error(str(error)) from None


@models.command("new", short_help="Write a model to begin with.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The table's name; the file is NAME.sql.")],
    *,
    settings: Settings,
) -> None:
    """Write NAME.sql, with its head, into [models] dir: change it, and try it with `ordermart models check`.

    If docs/models ships a model of this name, such as customers, that is copied, with its checks.

    Exit codes: 0 written; 2 there is one of this name, or it is no name of a table.
    """
    from pipelines.warehouse.own.trying import new_model

    say([f"Wrote {new_model(settings, name)}: edit it, then `ordermart models check`."])


@models.command("check", short_help="Make every model of the last days.")
def check(*, settings: Settings) -> None:
    """Make every model of the last three days of the current release, and name problems and types of columns.

    Nothing is published. Exit codes: 0 all are right; 2 invalid settings, or there is no release; 3 some are wrong.
    """
    from pipelines.warehouse.own.trying import check_models

    _show(check_models(settings), "right")


@models.command("test", short_help="Run models on the rows of their .test.txt files.")
def run_tests(*, settings: Settings) -> None:
    """Run each model that has NAME.test.txt beside it on the rows given there, and compare with those expected.

    Exit codes: 0 all rows are as expected; 2 invalid settings; 3 some are not.
    """
    from pipelines.warehouse.own.trying import run_tests as tried

    _show(tried(settings), "as expected")


def _show(found: list[Tried], good: str) -> None:
    say(_lines(found, good))
    leave(is_open=any(each.wrong for each in found))


def _lines(found: list[Tried], good: str) -> Iterator[str]:
    from pipelines.literals import one_line as plain

    for each in found:
        yield f"{each.name}: {plain(each.wrong) if each.wrong else good}"
        yield from (f"  {plain(line)}" for line in each.said)
    if not found:
        yield "There is none: `ordermart models new NAME` writes one."
