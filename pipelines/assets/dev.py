"""Run Dagster's pages, its daemon and the webhook receiver together, on records below the data folder.

Each is a process group of its own, so that SIGTERM and SIGINT end all of it, as systemd and Docker stop a service.
Output is passed on line by line, without control characters: Dagster logs whatever an exception holds, and colours it;
a child that wrote to the terminal itself would pass a filter by. Telemetry is off.

Runs whose process is dead are marked as failed: Dagster 1.13 does not see that a worker was killed, and one that stays
STARTED queues every later run for ever. The holder of the run lock knows that no other run is alive.
"""

import contextlib
import ctypes
import fcntl
import functools
import math
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from pipelines.assets.dagster_history import show_release
from pipelines.durable import keep_private
from pipelines.ingest.lock import RunLockedError, run_lock
from pipelines.listening import ListenError, claimed
from pipelines.run.reporting import report_dead_runs
from pipelines.run.steps import damage_of, set_aside
from pipelines.settings import Settings

_ALIVE = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]
# A run gets its process, which then takes the lock, within this time.
_STARTING = timedelta(minutes=5)
_REASON = (
    "The process of this run ended without a word: killed, out of memory, or the machine went down. "
    "What it had landed is kept; the next run resumes it."
)


def any_alive(instance: dg.DagsterInstance) -> bool:
    """Tell whether Dagster takes any run for alive."""
    return bool(instance.get_run_ids(RunsFilter(statuses=[*_ALIVE, DagsterRunStatus.STARTING]), limit=1))


def fail_dead_runs(instance: dg.DagsterInstance, *, own_run_id: str = "", now: datetime | None = None) -> list[str]:
    """Mark every run that cannot be alive as failed, and return their ids. Call it only while holding the run lock.

    A run that is still starting is left alone for five minutes: it has not asked for the lock yet.
    """
    late = (now or datetime.now(UTC)) - _STARTING
    runs = instance.get_runs(RunsFilter(statuses=_ALIVE))
    records = instance.get_run_records(RunsFilter(statuses=[DagsterRunStatus.STARTING], created_before=late))
    dead = [run for run in [*runs, *(record.dagster_run for record in records)] if run.run_id != own_run_id]
    for run in dead:
        instance.report_run_failed(run, _REASON)
    return [run.run_id for run in dead]


# Docker kills ten seconds after SIGTERM: all of this takes eight.
_PATIENCE_SECONDS = 6.0  # after SIGTERM, before SIGKILL
_LAST_LINES_SECONDS = 2.0  # for output still in the pipes after all processes ended
_LOOK_SECONDS = 0.2
_LONGEST = 1 << 16  # bytes of a line that are waited for
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of prctl(2)


class DevError(Exception):
    """The pages cannot be started; the message says why and what to do."""


def run_together(commands: Mapping[str, list[str]], environ: Mapping[str, str]) -> int:
    """Run named commands until a signal (returns 0) or the end of any of them (1, and says so), then end all."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    running: dict[str, subprocess.Popen[bytes]] = {}
    is_linux = sys.platform == "linux"
    end_with_parent = functools.partial(ctypes.CDLL(None).prctl, _PARENT_DIED, signal.SIGTERM) if is_linux else None
    readers: list[threading.Thread] = []
    ended: list[str] = []
    try:
        for name, command in commands.items():
            running[name] = subprocess.Popen(  # noqa: S603 -- our own command
                command,
                env=dict(environ),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 -- before any thread
            )
        for process in running.values():
            for each in ((process.stdout, "stdout"), (process.stderr, "stderr")):
                readers.append(threading.Thread(target=_pass_on, args=each, daemon=True))
                readers[-1].start()
        while not ended and not stop.wait(_LOOK_SECONDS):
            ended = [name for name, process in running.items() if process.poll() is not None]
    finally:
        _end(running.values())
        deadline = time.monotonic() + _LAST_LINES_SECONDS
        for reader in readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        for number, handler in before.items():
            signal.signal(number, handler)
    for name in ended[:1]:
        code = running[name].returncode
        sys.stderr.write(f"{name} ended by itself with exit code {code}; the others were stopped.\n")
    return len(ended[:1])


def _end(processes: Collection[subprocess.Popen[bytes]]) -> None:
    """End all of them and what they started: SIGTERM, then SIGKILL for whatever is left."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()) if number == signal.SIGTERM else None)


def _pass_on(pipe: IO[bytes], name: str) -> None:
    with pipe:
        while line := pipe.readline(_LONGEST):
            stream = getattr(sys, name)
            # go on without a reader: a full pipe would stop the children
            with contextlib.suppress(OSError, ValueError):
                stream.write(_COLOUR.sub("", line.decode("utf-8", "replace")))
                stream.flush()


@contextlib.contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Hold `data/dev.lock` while the block runs; raise DevError, naming the holder, when another process does."""
    keep_private(data_dir)
    with (data_dir / "dev.lock").open("a+", encoding="utf-8") as file:
        file.seek(0)
        by = file.read()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DevError(f"`ordermart dev` already runs on {data_dir} as process {by}; stop it first") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


_INSTANCE = """\
# Written by ordermart, and again whenever it differs; without this line the file is yours.
# Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
# Events are kept as such: a line for each of them as well would double the log of a run.
python_logs:
  python_log_level: INFO
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
# [dagster] keep_days; the sensor recorded_runs deletes old runs.
retention:
  schedule: {{purge_after_days: {days}}}
  sensor: {{purge_after_days: {{skipped: 1, success: {days}, failure: {days}, started: {days}}}}}
"""
_WORKSPACE = """\
# Written by ordermart, and again whenever it differs; without this line the file is yours.
# Pages and daemon must name the code alike: they find runs, ticks and switches by that name.
load_from:
  - python_module: {module_name: pipelines.definitions, location_name: ordermart}
"""
WORKSPACE = "workspace.yaml"
DEMO = "demo.toml"
_OURS = "# Written by ordermart"


def dagster_home(data_dir: Path, keep_days: float = 14) -> Path:
    """Create `data/dagster` with the files that Dagster reads, point DAGSTER_HOME at it, and return its path."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    wanted = {"dagster.yaml": _INSTANCE.format(days=math.ceil(keep_days)), WORKSPACE: _WORKSPACE}
    for name, text in wanted.items():
        file = home / name
        before = file.read_text(encoding="utf-8") if file.exists() else _OURS
        if before.startswith(_OURS) and before != text:
            file.write_text(text, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def dagster_dev(settings: Settings, *, host: str, port: int, webhooks: bool = False) -> int:
    """Run Dagster's pages and daemon on this instance until SIGTERM or SIGINT; return the exit code.

    The demo can only be looked at, without a daemon: its nights are at the time of its world. `webhooks` starts the
    receiver too. Raise DevError when the port is taken or another one runs on the same folder.
    """
    python, home = sys.executable, dagster_home(settings.data_dir, settings.dagster.keep_days)
    is_demo = settings.file.name == DEMO
    # a look at the runs, or the start of one, may take longer than Dagster's minute, on a busy machine
    environ = {"DAGSTER_GRPC_TIMEOUT_SECONDS": "300", **os.environ, "DAGSTER_HOME": str(home)}
    if settings.file.exists():
        environ["ORDERMART_CONFIG"] = str(settings.file)
    if is_demo:
        environ |= {"ORDERMART_SCHEDULE__IS_ON": "false", "ORDERMART_SCHEDULE__FRESH_BY": ""}
    with only_one(settings.data_dir):
        try:
            claimed(host, port)
        except ListenError as error:
            raise DevError(f"{error}; choose --port") from None
        _look_for_dead_runs(settings)
        pages = [python, "-m", "pipelines.assets.pages", host, str(port), "look" if is_demo else "launch"]
        commands = {"Dagster's pages": [*pages, *settings.dagster.allowed_hosts]}
        if not is_demo:
            daemon = str(Path(sysconfig.get_path("scripts")) / "dagster-daemon")
            commands["Dagster's daemon"] = [daemon, "run", "-w", str(home / WORKSPACE)]
        if webhooks:
            commands["the webhook receiver"] = [python, "-m", "pipelines.cli", "webhooks", "serve"]
        sys.stderr.write(f"Dagster's pages: http://{host}:{port} (Ctrl-C stops everything)\n")
        return run_together(commands, environ)


def _look_for_dead_runs(settings: Settings) -> None:
    """Set damaged records aside, tell of a run that was killed, and have Dagster show what became of it."""
    try:
        with run_lock(settings.data_dir, "a look for dead runs"):
            for sentence in set_records_aside(settings.data_dir):
                sys.stderr.write(f"{sentence}\n")
            report_dead_runs(settings)
            with dg.DagsterInstance.get() as instance:
                fail_dead_runs(instance)
                if not settings.schedule.is_on or settings.file.name == DEMO:
                    show_release(settings, instance)
    except RunLockedError:
        return  # a run of the command line is alive


def set_records_aside(data_dir: Path) -> list[str]:
    """Rename a folder of Dagster's records that SQLite cannot read, and say so; the caller holds the lock."""
    home = data_dir / "dagster"
    notes = []
    for folder, names in ((home / "history", ("runs.db", "runs/index.db")), (home / "schedules", ("schedules.db",))):
        if found := next(filter(None, (damage_of(folder / name) for name in names)), ""):
            target = set_aside(folder)
            notes.append(f"Dagster's {folder.name} was damaged ({found}) and set aside as {target}; only that is lost.")
    return notes
