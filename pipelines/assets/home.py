"""Keep Dagster's own records below the data folder, with telemetry off, and run its pages and daemon on them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import dagster as dg

from pipelines.assets.dead_runs import fail_dead_runs
from pipelines.assets.dev import Processes, check_port, only_one, run_together
from pipelines.ingest.lock import RunLockedError, run_lock
from pipelines.run.healing import damage_of, set_aside
from pipelines.run.telling import tell_of_dead_runs

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

_INSTANCE = """\
# Written by ordermart, and again whenever it differs; without this line the file is yours.
# Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
# No dialog about newsletters over the pages.
nux:
  enabled: false
# One run at a time: the lock of the data folder would refuse a second one.
concurrency:
  runs:
    max_concurrent_runs: 1
# Ends runs that hang, and those that take longer than [dagster] max_run_hours.
run_monitoring:
  enabled: true
# Evaluates whether a night ended by [schedule] fresh_by.
freshness:
  enabled: true
"""
_OURS = "# Written by ordermart"


def dagster_home(data_dir: Path) -> Path:
    """Create `data/dagster`, point DAGSTER_HOME at it, and return its absolute path."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    instance = home / "dagster.yaml"
    text = instance.read_text(encoding="utf-8") if instance.exists() else _OURS
    if text.startswith(_OURS) and text != _INSTANCE:
        instance.write_text(_INSTANCE, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


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
        _look_for_dead_runs(settings)
        processes = Processes()
        allowed = settings.dagster.allowed_hosts
        processes.start("Dagster's pages", [python, "-m", "pipelines.assets.pages", host, str(port), *allowed], environ)
        daemon = [python, "-m", "dagster._daemon", "run", "-m", "pipelines.definitions"]
        processes.start("Dagster's daemon", daemon, environ)
        if webhooks:
            processes.start("the webhook receiver", [python, "-m", "pipelines.cli", "webhooks", "serve"], environ)
        sys.stderr.write(f"Dagster's pages: http://{host}:{port} (Ctrl-C stops everything)\n")
        return run_together(processes)


def _look_for_dead_runs(settings: Settings) -> None:
    """Tell of a run that was killed, and have Dagster take it for failed; set records that are damaged aside."""
    try:
        with run_lock(settings.data_dir, "a look for dead runs"):
            for sentence in set_records_aside(settings.data_dir):
                sys.stderr.write(f"{sentence}\n")
            tell_of_dead_runs(settings)
            with dg.DagsterInstance.get() as instance:
                fail_dead_runs(instance)
    except RunLockedError:
        return  # a run of the command line is alive


def set_records_aside(data_dir: Path) -> list[str]:
    """Rename a folder of Dagster's records that SQLite cannot read, and say so: only the history of runs is lost.

    The caller holds the lock.
    """
    home = data_dir / "dagster"
    notes = []
    for folder, names in ((home / "history", ("runs.db", "runs/index.db")), (home / "schedules", ("schedules.db",))):
        if found := next(filter(None, (damage_of(folder / name) for name in names)), ""):
            target = set_aside(folder)
            notes.append(f"Dagster's {folder.name} was damaged ({found}) and set aside as {target}; only that is lost.")
    return notes
