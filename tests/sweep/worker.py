"""Run nights in children of this process, with the shim armed: reads one JSON job a line, answers with one.

Everything is imported once, here; each night is a fork. One processor, so that DuckDB has no thread that a fork would
lose. Started by `tests/sweep/__main__.py` with the shim preloaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

SECONDS = 900  # of a busy machine


def main() -> None:
    """Import and warm up, then serve jobs until there are no more."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import pandas  # noqa: F401, ICN001, PLC0415 -- pyarrow would look for it in the middle of a night

    from pipelines.warehouse import catalogue  # noqa: PLC0415
    from pipelines.warehouse.release.manifest import code_version  # noqa: PLC0415
    from tests.forked import prepare_builds  # noqa: PLC0415
    from tests.sweep import night  # noqa: F401, PLC0415

    prepare_builds()
    catalogue.checks()
    catalogue.stages()
    code_version()
    for table in catalogue.tables():
        _ = table.columns
    _say("ready")
    for line in sys.stdin:
        _say(json.dumps(run(json.loads(line))))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job in a child and return its answer, or how it ended."""
    answer = Path(job["place"]) / "answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            _child(job, answer)
        finally:
            os._exit(0)
    deadline = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"error": f"it had not ended after {SECONDS} s", "hung": True}
        time.sleep(0.01)
    if os.WIFSIGNALED(status):
        return {"killed": os.WTERMSIG(status)}
    return dict(json.loads(answer.read_text())) if answer.exists() else {"error": "the child gave no answer"}


def _child(job: dict[str, Any], answer: Path) -> None:
    from pipelines import durable  # noqa: PLC0415
    from tests.sweep import night  # noqa: PLC0415

    place = Path(job["place"])
    errors = (place / "errors.txt").open("w")
    os.dup2(errors.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    settings = night.settings_of(place, job["base_url"])
    shim = ctypes.CDLL(None)
    if job.get("plant") == "no sync":  # a fault that a loss of power must show
        durable.sync = lambda _path: None
    found: dict[str, Any] = {}
    try:
        files = [
            os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644) if job.get(name) else -1
            for name in ("trace", "record")
        ]
        ids = Path(job["ids"])
        if job["do"] == "first":
            night.first_night(place, settings, ids)
        elif job["do"] == "stage":
            shim.sweep_arm(str(place).encode(), job.get("mode", 0), ctypes.c_long(job.get("at", 0)), *files)
            night.run_stage(job["stage"], place, settings, ids)
        else:
            found["before"] = "the current release or the ledger is damaged"
            night.current_is_whole(settings)
            del found["before"]
            night.next_night(place, settings, ids if job["gives_ids"] else None)
        if job.get("outcome"):
            found["outcome"] = night.outcome(settings)
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the answer
        found["error"] = f"{type(error).__module__}.{type(error).__name__}: {error}"
        found["where"] = "".join(traceback.format_exception(error)[-6:])
    shim.sweep_seen.restype = ctypes.c_long
    found["seen"] = shim.sweep_seen()
    shim.sweep_arm(b"/nowhere", 0, ctypes.c_long(0), -1, -1)
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
