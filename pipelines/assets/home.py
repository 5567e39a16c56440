"""Keep Dagster's own records below the data folder, with telemetry off, and run its pages and daemon on them.

Knows nothing of assets or jobs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from pipelines.assets.dead_runs import fail_dead_runs
from pipelines.assets.dev import Processes, check_port, only_one, run_together
from pipelines.ingest.lock import RunLockedError, run_lock

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

_INSTANCE = """\
# Written by ordermart. Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
# No dialog about newsletters over the pages.
nux:
  enabled: false
# One run at a time: the lock of the data folder would refuse a second one.
concurrency:
  runs:
    max_concurrent_runs: 1
"""
# What steps print stands where a command prints it. To keep it besides, Dagster starts four processes a run.
_NOT_KEPT = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}


def dagster_home(data_dir: Path) -> Path:
    """Create `data/dagster`, point DAGSTER_HOME at it, and return its absolute path."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    instance = home / "dagster.yaml"
    if not instance.exists():
        instance.write_text(_INSTANCE, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def instance_of_command(data_dir: Path) -> dg.DagsterInstance:
    """Open the instance for a run of the command line: what steps print is kept only where dagster.yaml says how."""
    home = dagster_home(data_dir)
    says_how = "compute_logs" in (home / "dagster.yaml").read_text(encoding="utf-8")
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides={} if says_how else _NOT_KEPT))


def dagster_dev(settings: Settings, *, host: str, port: int, webhooks: bool = False) -> int:
    """Run Dagster's pages and daemon on this instance until SIGTERM or SIGINT; return the exit code.

    `webhooks` starts the receiver too. Raise DevError when the port is taken or another one runs on the same folder.
    """
    python, home = sys.executable, dagster_home(settings.data_dir)
    environ = {**os.environ, "DAGSTER_HOME": str(home)}
    if settings.file.exists():
        environ["ORDERMART_CONFIG"] = str(settings.file)
    with only_one(settings.data_dir):
        check_port(host, port)
        _fail_dead_runs(settings.data_dir)
        processes = Processes()
        allowed = settings.dagster.allowed_hosts
        processes.start("Dagster's pages", [python, "-m", "pipelines.assets.pages", host, str(port), *allowed], environ)
        daemon = [python, "-m", "dagster._daemon", "run", "-m", "pipelines.definitions"]
        processes.start("Dagster's daemon", daemon, environ)
        if webhooks:
            processes.start("the webhook receiver", [python, "-m", "pipelines.cli", "webhooks", "serve"], environ)
        sys.stderr.write(f"Dagster's pages: http://{host}:{port} (Ctrl-C stops everything)\n")
        return run_together(processes)


def _fail_dead_runs(data_dir: Path) -> None:
    try:
        with run_lock(data_dir, "a look for dead runs"), dg.DagsterInstance.get() as instance:
            fail_dead_runs(instance)
    except RunLockedError:
        return  # a run of the command line is alive
