"""The demo leaves a data folder and settings on which every other command works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.sandbox.serve import free_port
from tests.readers import differences

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ordermart(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Give `ordermart(*arguments)` with a free port and no settings but those it is given."""
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[data]\ndir = "data"\n[partner]\nbase_url = "http://127.0.0.1:{free_port()}"\n[notify]\nmin_free_gb = 0\n'
    )

    def run(*arguments: str, config: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pipelines.cli", "--config", config or str(file), *arguments],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith("ORDERMART_PARTNER")},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_and_the_commands_after_it(
    ordermart: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Two nights, a close and control totals; then build, run, reconcile and the next night with what it left."""
    refused = ordermart("demo", "--next-night")
    assert (refused.returncode, "there is no demo" in refused.stderr) == (2, True)
    first = ordermart("demo", "--orders", "300", "--stores", "4")
    assert first.returncode == 0, first.stdout + first.stderr
    data, config = tmp_path / "data", str(tmp_path / "data" / "demo.toml")
    assert (data / "published" / "morning.html").exists()
    assert len(json.loads((data / "notify" / "runs.json").read_text())) == 2
    with duckdb.connect(str(data / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        totals = dict(db.execute("select tie_out_status, count(*) from audit.control_totals group by all").fetchall())
        assert totals == {"tied": 2, "variance": 1}
        assert db.execute("select count(*) from mart.closed_days").fetchone()[0] > 0
        orders = db.execute("select count(*) from mart.orders").fetchone()[0]
    for reader in ("duckdb", "pandas", "pyarrow", "polars"):
        assert list(differences((data / "published" / "current").resolve(), reader)) == []
    built = ordermart("build", config=config)
    assert (built.returncode, "unmapped" in built.stdout) == (0, False), built.stderr
    assert "tables changed" in built.stdout
    assert ordermart("reconcile", config=config).returncode == 3
    run = ordermart("run", "--due", config=config)
    assert run.returncode == 0, run.stdout + run.stderr
    later = ordermart("demo", "--next-night")
    assert later.returncode == 0, later.stdout + later.stderr
    with duckdb.connect(str(data / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        assert db.execute("select count(*) from mart.orders").fetchone()[0] > orders
