"""Keep Dagster's own records below the data folder, with telemetry off.

Knows nothing of assets or jobs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.settings import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

_INSTANCE = """\
# Written by ordermart. Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
# One run at a time: the run lock of the data folder would refuse a second one.
concurrency:
  runs:
    max_concurrent_runs: 1
"""


def dagster_home(data_dir: Path) -> Path:
    """Create `data/dagster`, point DAGSTER_HOME at it, and return its absolute path."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    instance = home / "dagster.yaml"
    if not instance.exists():
        instance.write_text(_INSTANCE, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def dagster_dev(settings: Settings, *, webhooks: bool = False) -> int:
    """Run Dagster's web server and daemon on this instance until stopped; return their exit code.

    `webhooks` also runs the webhook receiver, as a child process.
    """
    environ = {
        **os.environ,
        "DAGSTER_HOME": str(dagster_home(settings.data_dir)),
        "ORDERMART_CONFIG": str(settings.file),
    }
    command = [str(Path(sys.executable).with_name("dg")), "dev", "-w", str(ROOT / "workspace.yaml")]
    with running_receiver(environ) if webhooks else nullcontext():
        return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode  # noqa: S603 -- our own command


@contextmanager
def running_receiver(environ: dict[str, str]) -> Iterator[None]:
    """Run the webhook receiver while the block runs; if it cannot start, it prints why on standard error."""
    command = [sys.executable, "-m", "pipelines.cli", "webhooks", "serve"]
    receiver = subprocess.Popen(command, cwd=ROOT, env=environ)  # noqa: S603 -- our own command
    try:
        yield
    finally:
        receiver.terminate()
        receiver.wait()
