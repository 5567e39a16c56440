"""`ordermart dev` by its own door: a night is launched, watched, stopped and inspected as its pages do it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dagster import DagsterInstance

from pipelines.assets.dev import dagster_home
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.record import runs
from pipelines.sandbox.process import Sandbox
from pipelines.warehouse.catalogue.tables import tables
from tests.assets.pages import ENDED, ROOT, Pages, alive, descendants, dev, served, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Start a service that the test can halt."""
    folder = tmp_path_factory.mktemp("halted")
    with Sandbox(orders=80, stores=3, days=4, faults=0.05, ids=folder / "ids.txt") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def place(sandbox: Sandbox, place_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Give a data folder beside that service; each minute has a night, unless the schedule is stopped."""
    made = place_of(
        tmp_path_factory.mktemp("pages"),
        sandbox.base_url,
        ORDERMART_SCHEDULE__IS_ON="false",
        ORDERMART_SCHEDULE__CRON="* * * * *",
        ORDERMART_NOTIFY__MIN_FREE_GB="0",
    )
    made.ids = Path(str(sandbox.flags["ids"]))
    return made


@pytest.fixture(scope="module")
def pages(place: Place) -> Iterator[Pages]:
    """Serve the pages of that folder."""
    with served(dev(), place.environ) as (pages, _):
        yield pages


@pytest.fixture(scope="module")
def by_command(place: Place, place_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Give another folder, in which the command made the same night."""
    made = place_of(tmp_path_factory.mktemp("command"), place.base_url, ORDERMART_NOTIFY__MIN_FREE_GB="0")
    done = made.command("run", "--order-ids", str(place.ids))
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return made


def wanted_checks(place: Place) -> dict[tuple[str, str], bool]:
    """Return of each check whether it passed, as the manifest of the current release counts violations."""
    found = json.loads((place.data / "published" / "current" / "manifest.json").read_text())["checks"]
    passed: dict[tuple[str, str], bool] = {}
    for table in tables():
        for check in table.checks:
            name = check.name.partition("__")[2] if check.severity == "blocking" else "warnings"
            key = (table.name.replace(".", "/"), name)
            passed[key] = passed.get(key, True) and not found[check.name]
    return passed


def shown_checks(pages: Pages) -> dict[tuple[str, str], bool | None]:
    """Return of each check whether it passed, as the pages show it beside the last rows; None: not evaluated."""
    return {
        (name, check["name"]): shown["evaluation"]["success"]
        if (shown := check["executionForLatestMaterialization"]) and shown["evaluation"]
        else None
        for name, asset in pages.assets().items()
        for check in asset["assetChecksOrError"]["checks"]
    }


def shown_validations(pages: Pages) -> dict[str, int]:
    """Return how many rows went through a table's Pandera schema, as the pages show it at its checks."""
    return {
        name: entry["intValue"]
        for name, asset in pages.assets().items()
        for check in asset["assetChecksOrError"]["checks"]
        for entry in check["executionForLatestMaterialization"]["evaluation"]["metadataEntries"]
        if entry["label"] == "validated by Pandera"
    }


def release(pages: Pages) -> str:
    """Return the release that the pages show."""
    made = pages.last_of("release")
    return next((each["text"] for each in made["metadataEntries"] if each["label"] == "release"), "") if made else ""


def red_assets(pages: Pages) -> list[str]:
    """Return the assets that the pages paint red."""
    return [name for name, asset in pages.assets().items() if asset["is_red"]]


@contextmanager
def halted(sandbox: Sandbox) -> Iterator[None]:
    """Keep the service from answering while the block runs."""
    os.kill(sandbox.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(sandbox.pid, signal.SIGCONT)


@contextmanager
def switched_on(pages: Pages, *names: str) -> Iterator[None]:
    """Switch these on while the block runs, and have no run left afterwards."""
    assert [pages.switch(name, is_on=True) for name in names] == ["RUNNING"] * len(names)
    try:
        yield
    finally:
        assert [pages.switch(name, is_on=False) for name in names] == ["STOPPED"] * len(names)
    until(lambda: all(run["status"] in ENDED for run in pages.runs()))


def test_a_night_launched_in_the_pages_is_that_of_the_command(pages: Pages, place: Place, by_command: Place) -> None:
    """The same rows, steps and verdict; of one asset alone, documents are fetched, and a table is refused with why."""
    launched = pages.launch(config={"order_ids": str(place.ids)})
    assert launched["__typename"] == "LaunchRunSuccess", launched
    first = launched["run"]["runId"]
    assert pages.ended(first) == "SUCCESS", pages.messages(first)
    for query in (
        "select order_id, status, total_price from core.orders order by all",
        "from mart.daily_store_sales order by all",
        "select check_name, entity_id, location from audit.findings order by all",
    ):
        assert place.all(query) == by_command.all(query), query
    (record,), (other,) = runs(place.data), runs(by_command.data)
    assert [step.name for step in record.steps] == [step.name for step in other.steps]
    assert (record.run_state, record.dagster_run_id, record.rows) == (other.run_state, first, other.rows)
    assert shown_checks(pages) == wanted_checks(place)
    assert shown_validations(pages) == {name.replace(".", "/"): rows for name, rows in record.validated.items()}
    checks = [check for asset in pages.assets().values() for check in asset["assetChecksOrError"]["checks"]]
    assert {check["name"] for check in checks if not check["blocking"]} == {"warnings"}

    alone = pages.launch(assets=["core/orders"])
    assert alone["__typename"] == "InvalidSubsetError"
    assert "tables_and_release" in alone["message"]
    assert pages.ended(pages.launch(assets=["raw/stores"])["run"]["runId"]) == "SUCCESS"


def test_a_night_is_terminated_in_the_middle_and_executed_again(pages: Pages, place: Place, sandbox: Sandbox) -> None:
    """It ends as stopped, with its record; the one executed again is whole."""
    with halted(sandbox):
        stopped = pages.launch(config={"order_ids": str(place.ids)})["run"]["runId"]
        until(lambda: any(run.dagster_run_id == stopped and run.steps for run in runs(place.data)))
        assert pages.terminate(stopped) == "TerminateRunSuccess"
        assert pages.ended(stopped) == "CANCELED"
    again = pages.again(stopped)
    assert pages.ended(again) == "SUCCESS", pages.messages(again)
    of_both = [(run.dagster_run_id, run.stopped_by) for run in runs(place.data)][-2:]
    assert of_both == [(stopped, "an interruption"), (again, "")]
    assert shown_checks(pages) == wanted_checks(place)


def signalled(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to processes."""
    for pid in pids:
        os.kill(pid, number)


def since_two_days(place: Place, name: str) -> None:
    """Let a schedule be on for two days already."""
    with DagsterInstance.from_config(str(place.data / "dagster")) as instance:
        (state,) = [each for each in instance.all_instigator_state() if each.name == name]
        of: Any = state.instigator_data
        instance.update_instigator_state(state.with_data(of._replace(start_timestamp=time.time() - 2 * 86_400)))


def test_a_night_of_the_pages_that_was_killed_is_healed_by_the_next(
    pages: Pages, place: Place, sandbox: Sandbox
) -> None:
    """`status` names it, its ids are fetched, and Dagster's run has failed."""
    with halted(sandbox):
        pages.launch(config={"order_ids": str(place.ids)})
        killed = until(lambda: next((run for run in runs(place.data) if run.steps and not run.ended_at), None))
        os.kill(killed.pid, signal.SIGKILL)
        until(lambda: killed.pid not in alive({killed.pid}))
        said = place.command("status").stdout
        assert "was killed" in said, said
    made = place.command("run")
    assert made.returncode in (0, 3), made.stdout + made.stderr
    assert runs(place.data)[-1].resumes is not None
    with WorkList(inbox_path(place.data)) as work:
        assert not list(work.due("orders", limit=10))
    until(lambda: pages.status(killed.dagster_run_id) == "FAILURE")


def test_switches_are_those_of_the_daemon(pages: Pages, place: Place) -> None:
    """Sensors and schedule that are on have ticks, and those of the schedule a night; stopped, they have none.

    Of nights that were missed while the daemon stood still for two days the last one alone is made up for.
    """
    names = ("night_schedule", "recorded_runs", "webhooks_waiting")

    def ticks() -> list[list[Any]]:
        return [pages.instigation(name)["ticks"] for name in names]

    before, began = [len(found) for found in ticks()], time.time()
    daemon = [pid for pid in descendants(os.getpid()) if b"dagster-daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    signalled(daemon, signal.SIGSTOP)
    with switched_on(pages, *names):
        since_two_days(place, names[0])
        signalled(daemon, signal.SIGCONT)
        until(lambda: all(len(found) > had for found, had in zip(ticks(), before, strict=True)))
        night = until(lambda: [run for tick in ticks()[0] for run in tick["runIds"]])[0]
    assert [pages.instigation(name)["status"] for name in names] == ["STOPPED"] * 3
    assert all(tick["timestamp"] > began - 60 for tick in ticks()[0][: len(ticks()[0]) - before[0]])
    assert pages.ended(night) == "SUCCESS", pages.messages(night)
    assert not [tick["error"] for found in ticks() for tick in found if tick["error"]]
    # a tick under way may still end
    time.sleep(5)
    before = [len(found) for found in ticks()]
    time.sleep(65)
    assert [len(found) for found in ticks()] == before


def test_pages_show_what_is_true_of_the_release(pages: Pages, place: Place) -> None:
    """Of a run of the command within two looks of the sensor, one each half minute; and after a failed launch."""
    with switched_on(pages, "recorded_runs"):
        made = place.command("run", "--order-ids", str(place.ids))
        assert made.returncode in (0, 3), made.stdout + made.stderr
        ended = runs(place.data)[-1].ended_at
        assert ended is not None

        def is_shown() -> bool:
            made = pages.last_of("release")
            return made is not None and float(made["timestamp"]) / 1000 > ended.timestamp()

        until(is_shown)
        looks = [tick["timestamp"] for tick in pages.instigation("recorded_runs")["ticks"]]
        assert sum(look > ended.timestamp() for look in looks) <= 2
        assert release(pages) == (place.data / "published" / "current").resolve().name
        until(lambda: shown_checks(pages) == wanted_checks(place))  # the same look goes on with them

        failed = pages.launch(config={"order_ids": "/nothing/here"})["run"]["runId"]
        assert pages.ended(failed) == "FAILURE"
        assert "/nothing/here" in pages.messages(failed)
        until(lambda: not red_assets(pages))
        assert release(pages) == (place.data / "published" / "current").resolve().name
        until(lambda: shown_checks(pages) == wanted_checks(place))


def test_a_killed_run_for_webhooks_is_resumed(pages: Pages, place: Place, sandbox: Sandbox) -> None:
    """The next look asks for a run whose key names the killed one; it fetches what that one had to."""
    with switched_on(pages, "recorded_runs", "webhooks_waiting"):
        with halted(sandbox):
            with WorkList(inbox_path(place.data)) as work:
                work.add("orders", [int(line) for line in place.ids.read_text().split()[:5]], why="test")
            killed = until(
                lambda: next(
                    (run for run in runs(place.data) if run.kind == "webhooks" and run.steps and not run.ended_at), None
                )
            )
            os.kill(killed.pid, signal.SIGKILL)
        resumed = until(lambda: next((run for run in runs(place.data) if run.id > killed.id and run.is_told), None))
    assert (resumed.kind, resumed.resumes is not None) == ("webhooks", True)
    assert not resumed.errors
    keys = {
        run["runId"]: tag["value"] for run in pages.runs() for tag in run["tags"] if tag["key"] == "dagster/run_key"
    }
    assert keys[resumed.dagster_run_id] == f"{keys[killed.dagster_run_id]}, resuming {killed.id}"
    assert pages.status(killed.dagster_run_id) == "FAILURE"
    with WorkList(inbox_path(place.data)) as work:
        assert not list(work.due("orders", limit=10))


def test_the_demo_is_looked_at(by_command: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its checks and lineage are shown as of its release; no daemon runs, and nothing can be launched or switched."""
    file = by_command.folder / "demo.toml"
    file.write_text("", encoding="utf-8")
    with served(dev("--config", str(file)), by_command.environ) as (pages, _):
        assert shown_checks(pages) == wanted_checks(by_command)
        assert release(pages) == (by_command.data / "published" / "current").resolve().name
        assert pages.launch()["__typename"] == "UnauthorizedError"
        assert pages.instigation("webhooks_waiting")["status"] == "STOPPED"


def tool(name: str, *arguments: str, **environ: str) -> str:
    """Run a tool of Dagster's in the checkout, and return what it says."""
    command = [str(Path(sysconfig.get_path("scripts")) / name), *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_dagsters_own_tools_work_in_a_checkout(by_command: Place, tmp_path: Path) -> None:
    """`dg list defs`, `dg launch` and `dagster job execute` find the definitions, as Dagster's documentation has it."""
    home = {"DAGSTER_HOME": str(dagster_home(tmp_path / "data"))}
    found = json.loads(tool("dg", "list", "defs", "--json", **home, **by_command.environ))
    assert {asset["asset_key"] for asset in found["assets"]} >= {"release", "core/orders", "raw/orders"}
    tool("dg", "launch", "--assets", "raw/stores", **home, **by_command.environ)
    before = len(runs(by_command.data))
    tool("dagster", "job", "execute", "-m", "pipelines.definitions", "-j", "night", **home, **by_command.environ)
    assert [run.run_state for run in runs(by_command.data)[before:]] == ["good"]


# `dg dev` starts the other one; that it finds the definitions `dg list defs` shows above.
@pytest.mark.parametrize("command", [pytest.param("dg dev", marks=pytest.mark.long), "dagster dev -w workspace.yaml"])
def test_dagsters_own_servers_start_in_a_checkout(command: str, by_command: Place, tmp_path: Path) -> None:
    """They show the same assets at the same name of the location."""
    program, *rest = command.split()
    whole = [str(Path(sysconfig.get_path("scripts")) / program), *rest, "--port", "PORT"]
    home = {"DAGSTER_HOME": str(dagster_home(tmp_path / "data"))}
    with served(whole, by_command.environ | home) as (pages, _):
        until(lambda: "release" in pages.assets())
        assert pages.instigation("night_schedule")["status"] == "RUNNING"
