"""Keep Dagster's own records below the data folder, with telemetry off.

Refuses to know assets or jobs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.resources import CHECKOUT, resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

_INSTANCE = """\
# Written by ordermart. Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
# One run at a time: the lock of the data folder would refuse a second one.
concurrency:
  runs:
    max_concurrent_runs: 1
"""


def dagster_home(data_dir: Path) -> Path:
    """Make `data/dagster`, point DAGSTER_HOME at it, and return it (absolute)."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    instance = home / "dagster.yaml"
    if not instance.exists():
        instance.write_text(_INSTANCE, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def dagster_dev(settings: Settings, *, webhooks: bool = False) -> int:
    """Run Dagster's own pages and daemon on this instance until stopped; return their exit code.

    `webhooks` starts the receiver beside them, in a process of its own that ends with them.
    """
    environ = {
        **os.environ,
        "DAGSTER_HOME": str(dagster_home(settings.data_dir)),
    }
    if settings.file.exists():
        environ["ORDERMART_CONFIG"] = str(settings.file)
    command = [str(Path(sys.executable).with_name("dg")), "dev", "-w", str(resource("workspace.yaml"))]
    with running_receiver(environ) if webhooks else nullcontext():
        return subprocess.run(command, cwd=CHECKOUT, env=environ, check=False).returncode  # noqa: S603 -- our own command


@contextmanager
def running_receiver(environ: dict[str, str]) -> Iterator[None]:
    """Run the webhook receiver while the block runs; one that cannot start says why on standard error."""
    command = [sys.executable, "-m", "pipelines.cli", "webhooks", "serve"]
    receiver = subprocess.Popen(command, cwd=CHECKOUT, env=environ)  # noqa: S603 -- our own command
    try:
        yield
    finally:
        receiver.terminate()
        receiver.wait()
