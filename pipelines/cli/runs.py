"""The commands that run the job, and show how it stands: run, build, demo, retry, dev, status, doctor."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from pipelines.cli.options import Commands, Config, Locked, leave, say, usage_error

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pipelines.record import Run
    from pipelines.run.reporting import RunReport
    from pipelines.settings import Settings

app = Commands()

# Arguments and options of the commands below.
OrderIds = Annotated[Path | None, Option(exists=True, dir_okay=False, help="File of order ids to fetch, one per line.")]
OrderIdRange = Annotated[str, Option(metavar="A-B", help="Range of order ids to fetch, inclusive, e.g. 100-200.")]
MenuIds = Annotated[
    Path | None, Option(exists=True, dir_okay=False, help="File of menu ids to fetch besides those of store records.")
]
Due = Annotated[bool, Option("--due", help="Fetch only what is due: no list of stores, no plan, no maintenance.")]
RunAsJson = Annotated[bool, Option("--json", help="Log one JSON object a line instead of a summary.")]
Strict = Annotated[bool, Option(help="Exit 3 also for ids that failed or were quarantined before this run.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Add notes, rows by table, and queries.")]
Full = Annotated[bool, Option(help="Rebuild every table from the landing zone.")]
Profile = Annotated[bool, Option(help="Print the time and memory of each table.")]
Orders = Annotated[int, Option(min=1, help="Number of orders in the sandbox.")]
Stores = Annotated[int, Option(min=1, help="Number of stores.")]
Share = Annotated[float, Option(min=0, max=1, help="Share of documents with a planted fault.")]
Next = Annotated[bool, Option("--next-night", help="Move the demo's world on by a day, and run that night.")]
Kind = Annotated[str, Option(metavar="KIND", help="Only stores, menus or orders; default: all kinds.")]
Forget = Annotated[bool, Option("--forget", help="Remove these ids from the list; nobody asks for them.")]
Host = Annotated[str, Option(help="Address to serve on; default: [dagster] host.")]
Port = Annotated[int, Option(min=0, max=65535, help="Port to serve on; default: [dagster] port.", show_default=False)]
Webhooks = Annotated[bool, Option("--webhooks", help="Start the webhook receiver too.")]
StatusAsJson = Annotated[bool, Option("--json", help="Print one JSON object, for monitors.")]


@app.command(short_help="Fetch what is due, build the warehouse, publish a release.")
def run(
    *,
    settings: Settings,
    order_ids: OrderIds = None,
    order_id_range: OrderIdRange = "",
    menu_ids: MenuIds = None,
    due: Due = False,
    as_json: RunAsJson = False,
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Fetch the due ids, land them, build the warehouse and publish a release.

    Exit codes: 0 published, or nothing changed; 1 failed, the previous release stays current; 2 invalid settings or
    usage; 3 published, with newly failed or quarantined ids (see audit.quarantine), or with stores, menus or orders
    that are not up to date; 4 another run holds the lock, for half an hour unless with --due;
    130 or 143 stopped by Ctrl-C or SIGTERM: what had landed is kept, and the next run resumes this one.
    """
    from pipelines.ingest.ingest_session import stoppable
    from pipelines.report.outcomes import summary
    from pipelines.report.text import json_progress, line, terminal_progress
    from pipelines.run.under_way import NotBegunError, RunRequest, perform

    def note(text: str) -> None:
        say([line("note", text=text) if as_json else text])

    asked = RunRequest(_path(order_ids), order_id_range, _path(menu_ids))
    with stoppable() as stop:
        try:
            with _service(settings), json_progress(typer.echo) if as_json else terminal_progress() as progress:
                ended, told = perform(settings, "webhooks" if due else "night", asked, progress, say=note)
        except NotBegunError as error:
            _say_told(error.run, error.told, error.run.exit_code(), as_json=as_json)
            raise (error.__cause__ or error) from None
        except KeyboardInterrupt:  # before it began, or once it was recorded
            name = stop.signal.name if stop.signal else "an interruption"
            typer.echo(f"ordermart: stopped by {name}; what had landed is kept, the next run resumes it", err=True)
            raise typer.Exit(stop.exit_code) from None
    code = ended.exit_code(is_strict=strict)
    if not as_json:
        say(summary(settings, ended, is_verbose=verbose))
    _say_told(ended, told, code, as_json=as_json)
    if not as_json and not told.unwritten:
        from pipelines.report.page.morning import PAGE

        typer.echo(f"Morning page: {settings.data_dir / 'published' / PAGE}")
    raise typer.Exit(code)


def _say_told(run: Run, told: RunReport, code: int, *, as_json: bool) -> None:
    """Say what could not be sent or written; of JSON, all of the run."""
    from pipelines.report.text import line, run_lines

    if as_json:
        say([line("alarm_not_sent", text=text) for text in told.failures])
        say([line("note", text=told.unwritten)] if told.unwritten else [])
        say(run_lines(run, code))
    else:
        for failure in told.failures:
            typer.echo(failure, err=True)
        if told.unwritten:
            typer.echo(told.unwritten, err=True)


def _path(file: Path | None) -> str:
    return str(file.resolve()) if file else ""


def _service(settings: Settings) -> AbstractContextManager[object]:
    """Return the sandbox for settings that the demo wrote, else nothing."""
    if settings.file.name != "demo.toml":
        return nullcontext()
    from pipelines.demo import service_of

    return service_of(settings)


@app.command(short_help="Build the tables and publish, without requests.")
def build(*, settings: Settings, full: Full = False, profile: Profile = False, locked: Locked) -> None:
    """Build the tables and publish a release from the landing zone, without requests to the service.

    A full build can spread over a Ray cluster by [engine], see docs/SCALE.md; all else is always local.

    Exit codes: 0 published, or nothing changed; 1 blocked by a check, the previous release stays current; 2 invalid
    settings; 4 another run holds the lock.
    """
    from pipelines.finance.closing import build_and_record
    from pipelines.landing.data_folder import migrate
    from pipelines.report.outcomes import built, costs
    from pipelines.run.reporting import report_dead_runs
    from pipelines.warehouse.release.manifest import make_room
    from pipelines.warehouse.release.release import publish
    from pipelines.warehouse.rows.session import profiled

    with locked("ordermart build") as progress:
        say(migrate(settings.data_dir))
        report_dead_runs(settings)
        make_room(settings)
        with profiled() if profile else nullcontext() as measured:
            result = build_and_record(settings, full=full, progress=progress)
        release = publish(settings, result)
    say(built(result, release))
    if measured:
        say(costs(measured))


@app.command(short_help="Run nights on the embedded sandbox and show the results.")
def demo(
    *, orders: Orders = 2500, stores: Stores = 12, faults: Share = 0.02, next_night: Next = False, config: Config = None
) -> None:
    """Run four nights on the embedded sandbox service and show the results.

    Everything is written to [data] dir: without a settings file of your own, data/ of the checkout, whatever folder you
    are in. Settings for the other commands are left there, demo.toml.

    Exit codes: 0 published; 1 failed; 2 invalid settings, or no next night; 4 another run holds the lock.
    """
    from pipelines.demo import run_demo

    raise typer.Exit(run_demo(config, orders=orders, stores=stores, faults=faults, next_night=next_night))


@app.command(short_help="Put ids that could not be fetched on the work list again.")
def retry(*, kind: Kind = "", forget: Forget = False, settings: Settings) -> None:
    """Retry the dead-letter queue and what waits after a failure: make the ids that could not be fetched due now.

    Nights ask by themselves for what failed, for 30 days. What the service will never answer makes nights not good
    until `--forget` removes it from the list.
    """
    from pipelines.inbox.store import inbox_path
    from pipelines.inbox.worklist import WorkList
    from pipelines.report.outcomes import retried
    from pipelines.settings.kinds import KINDS

    known = next((name for name in KINDS if name == kind), None)
    if kind and known is None:
        raise usage_error(f"--kind: {kind!r} is not a kind of document; use one of {', '.join(KINDS)}")
    with WorkList(inbox_path(settings.data_dir)) as work:
        say(retried(work.forget(known) if forget else work.retry(known), is_forgotten=forget))


@app.command(short_help="Serve Dagster's web pages and run the nightly schedule.")
def dev(*, host: Host = "", port: Port = 0, webhooks: Webhooks = False, settings: Settings) -> None:
    """Serve Dagster's web pages and run the nightly schedule, until Ctrl-C or SIGTERM.

    With the demo's settings its flow, checks and lineage can be looked at; `ordermart demo --next-night` plays a night.

    Exit codes: 0 stopped by a signal; 1 a process ended by itself, the port is taken, or another one runs on this
    folder; 2 invalid settings.
    """
    from pipelines.assets.dev import dagster_dev

    host, port = host or settings.dagster.host, port or settings.dagster.port
    raise typer.Exit(dagster_dev(settings, host=host, port=port, webhooks=webhooks))


@app.command(short_help="Show last run, release, queue, alarms, lock and disk.")
def status(*, as_json: StatusAsJson = False, settings: Settings) -> None:
    """Show the last run, the release, queued ids, alarms, the lock and disk space, without requests to the service.

    A run that was killed since is told first, as the next run would do: by an alarm and on the morning page.

    Exit codes: 0 the last good night is recent; 1 the folder cannot be read; 2 invalid settings; 3 it is
    older than [notify] max_age_hours, or there was none.
    """
    import json

    from pipelines.report.status import status as state_of
    from pipelines.report.status import status_lines
    from pipelines.run.reporting import look_for_dead_runs

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
    from pipelines.sandbox.process import SandboxError

    findings = []
    with ExitStack() as stack:
        with suppress(SandboxError, OSError):  # as if the demo runs: its sandbox answers then; else `service` says so
            stack.enter_context(_service(settings))
        for finding in examine(settings):
            findings.append(finding)
            say([finding.line()])
    judged = judge(findings)
    leave(is_open=judged.unchecked, has_failed=judged.wrong)
