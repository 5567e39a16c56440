"""Keep Dagster's own records below the data folder, with telemetry off.

Refuses to know assets or jobs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_INSTANCE = """\
# Written by ordermart. Dagster keeps its runs, events and schedules in this folder.
telemetry:
  enabled: false
"""


def dagster_home(data_dir: Path) -> Path:
    """Make `data/dagster`, point DAGSTER_HOME at it unless it is set, and return the folder in force (absolute)."""
    home = data_dir / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    instance = home / "dagster.yaml"
    if not instance.exists():
        instance.write_text(_INSTANCE, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return home
