"""Dagster's pages as a test uses them: what their buttons and tables ask for, by GraphQL over HTTP."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
SELECTOR = {"repositoryLocationName": "ordermart", "repositoryName": "__repository__"}
PATIENCE = 400.0  # seconds, of a busy machine
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
_LAUNCHED = """__typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
    ... on InvalidSubsetError { message } ... on PipelineNotFoundError { message }
    ... on RunConfigValidationInvalid { errors { message } } ... on ConflictingExecutionParamsError { message }"""
_INSTIGATION = """__typename ... on {kind} {{ id name {state} {{
    id status ticks(limit: 20) {{ status timestamp runIds error {{ message }} }} }} }}
    ... on PythonError {{ message }}"""


def until(look: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Return what a look finds, once it finds something; long looks leave time to what they wait for."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := look():
            return found
        assert began < deadline, "it did not come"
        time.sleep(0.5 + 2 * (time.monotonic() - began))


def descendants(pid: int) -> set[int]:
    """Return all processes below one."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, new = set[int](), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def alive(pids: set[int]) -> set[int]:
    """Return those that still run; a zombie does not."""
    found = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.add(pid)
    return found


class Pages:
    """The pages at an address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client(timeout=PATIENCE)

    def ask(self, query: str, **variables: Any) -> Any:
        """Return the data of an answer."""
        answer = self.client.post(f"{self.url}/graphql", json={"query": query, "variables": variables}).json()
        assert not answer.get("errors"), answer["errors"]
        return answer["data"]

    def launch(
        self, job: str = "night", *, config: Mapping[str, str] | None = None, assets: list[str] | None = None
    ) -> Any:
        """Launch a job, or some assets alone; return the answer."""
        selector = SELECTOR | {"pipelineName": job if assets is None else "__ASSET_JOB"}
        if assets is not None:
            selector |= {"assetSelection": [{"path": name.split("/")} for name in assets], "assetCheckSelection": []}
        params = {
            "selector": selector,
            "mode": "default",
            "runConfigData": {"resources": {"run": {"config": dict(config or {})}}},
        }
        query = f"mutation($it: ExecutionParams!) {{ launchRun(executionParams: $it) {{ {_LAUNCHED} }} }}"
        return self.ask(query, it=params)["launchRun"]

    def again(self, run_id: str) -> str:
        """Execute a run again, all of it; return the new id."""
        it = {"parentRunId": run_id, "strategy": "ALL_STEPS"}
        query = (
            f"mutation($it: ReexecutionParams!) {{ launchRunReexecution(reexecutionParams: $it) {{ {_LAUNCHED} }} }}"
        )
        return str(self.ask(query, it=it)["launchRunReexecution"]["run"]["runId"])

    def terminate(self, run_id: str) -> str:
        """Ask a run to stop; return the kind of the answer."""
        query = "mutation($id: String!) { terminateRun(runId: $id) { __typename } }"
        return str(self.ask(query, id=run_id)["terminateRun"]["__typename"])

    def status(self, run_id: str) -> str:
        """Return the state of a run on the pages."""
        query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
        return str(self.ask(query, id=run_id)["runOrError"]["status"])

    def ended(self, run_id: str) -> str:
        """Wait for the end of a run, and return its status."""
        return str(until(lambda: (status := self.status(run_id)) in ENDED and status))

    def messages(self, run_id: str) -> str:
        """Return all that the pages show of a run, as text."""
        query = """query($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
            __typename ... on MessageEvent { message }
            ... on ErrorEvent { error { message causes { message } } } } } } }"""
        return str(self.ask(query, id=run_id)["logsForRun"]["events"])

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, the newest first."""
        query = "{ runsOrError { ... on Runs { results { runId status jobName tags { key value } } } } }"
        return list(self.ask(query)["runsOrError"]["results"])

    def instigation(self, name: str) -> Any:
        """Return the state of a schedule or a sensor, with its ticks."""
        is_schedule = name.endswith("_schedule")
        kind, state = ("Schedule", "scheduleState") if is_schedule else ("Sensor", "sensorState")
        root = f"{kind.lower()}OrError"
        fields = _INSTIGATION.format(kind=kind, state=state)
        query = f"query($it: {kind}Selector!) {{ {root}({kind.lower()}Selector: $it) {{ {fields} }} }}"
        found = self.ask(query, it=SELECTOR | {f"{kind.lower()}Name": name})[root]
        return found[state] | {"of": found["id"]}

    def switch(self, name: str, *, is_on: bool) -> str:
        """Start or stop a schedule or a sensor as the pages do; return its status."""
        is_schedule = name.endswith("_schedule")
        kind = "Schedule" if is_schedule else "Sensor"
        if is_on:
            root = "startSchedule" if is_schedule else "startSensor"
            arguments = f"{kind.lower()}Selector: $it"
            declared, it = f"{kind}Selector!", SELECTOR | {f"{kind.lower()}Name": name}
        else:
            root = "stopRunningSchedule" if is_schedule else "stopSensor"
            arguments, declared, it = "id: $it", "String!", self.instigation(name)["id"]
        self.ask(f"mutation($it: {declared}) {{ {root}({arguments}) {{ __typename }} }}", it=it)
        return str(self.instigation(name)["status"])

    def last_of(self, name: str) -> dict[str, Any] | None:
        """Return the last materialization of one asset: to wait for it by all assets keeps the server busy."""
        query = """query($it: AssetKeyInput!) { assetOrError(assetKey: $it) { ... on Asset {
            assetMaterializations(limit: 1) { timestamp metadataEntries { label ... on TextMetadataEntry { text } } }
        } } }"""
        found = self.ask(query, it={"path": name.split("/")})["assetOrError"].get("assetMaterializations")
        return found[0] if found else None

    def assets(self) -> dict[str, Any]:
        """Return all assets with their last materialization, their checks, and whether the graph paints them red."""
        query = """{ assetNodes { assetKey { path } assetMaterializations(limit: 1) { runId timestamp
            metadataEntries { label ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text } } }
            assetChecksOrError { ... on AssetChecks { checks { name blocking description
                executionForLatestMaterialization { status runId evaluation { severity success
                    metadataEntries { label ... on IntMetadataEntry { intValue } } } } } } } } }"""
        found = {"/".join(node["assetKey"]["path"]): node for node in self.ask(query)["assetNodes"]}
        keys = [node["assetKey"] for node in found.values()]
        query = """query($keys: [AssetKeyInput!]!) { assetsLatestInfo(assetKeys: $keys) {
            assetKey { path } latestRun { id status endTime } } }"""
        for info in self.ask(query, keys=keys)["assetsLatestInfo"]:
            node, run = found["/".join(info["assetKey"]["path"])], info["latestRun"]
            made = node["assetMaterializations"]
            is_later = (
                made
                and run
                and (made[0]["runId"] == run["id"] or float(made[0]["timestamp"]) > (run["endTime"] or 0) * 1000)
            )
            node["is_red"] = bool(run and run["status"] == "FAILURE" and not is_later)
        return found


@contextmanager
def served(command: list[str], environ: Mapping[str, str], folder: Path = ROOT) -> Iterator[tuple[Pages, Any]]:
    """Run a command that serves the pages at the port that is put in place of PORT; give them and the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [str(port) if word == "PORT" else word for word in command],
            cwd=folder,
            env={**os.environ, **environ},
            stdout=said,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        pages = Pages(f"http://127.0.0.1:{port}")

        def answers() -> bool:
            said.seek(0)
            assert process.poll() is None, said.read().decode()
            try:
                return pages.client.get(f"{pages.url}/server_info").status_code == 200
            except httpx.TransportError:
                return False

        try:
            until(answers)
            yield pages, process
        finally:
            pages.client.close()
            below = descendants(process.pid)
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            for pid in alive(below):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def dev(*arguments: str) -> list[str]:
    """Return the command that serves the pages."""
    return [sys.executable, "-m", "pipelines.cli", *arguments, "dev", "--port", "PORT"]
