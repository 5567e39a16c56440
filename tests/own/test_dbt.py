"""dbt-duckdb over a release: sources as `ordermart contract --dbt` writes them, two models, tests and freshness."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.report.interface import dbt

if TYPE_CHECKING:
    from tests.privacy.conftest import World

ROOT = Path(__file__).resolve().parents[2]
DBT = ROOT / ".venv-dbt" / "bin" / "dbt"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.dbt,
    pytest.mark.skipif(not DBT.exists(), reason="dbt-duckdb is not installed: requirements-dbt.lock"),
]


def test_dbt_reads_a_release(first: World, tmp_path: Path) -> None:
    """Two models are built on it, every test of core, mart and own holds, and the release is fresh."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "tests" / "own" / "dbt", project)
    (project / "models" / "sources.yml").write_text(dbt(first.settings), encoding="utf-8")
    release = str(first.data / "published" / "current")

    def run(*arguments: str) -> str:
        environ = {**os.environ, "ORDERMART_RELEASE": release, "DO_NOT_TRACK": "1"}
        command = [DBT, *arguments, "--profiles-dir", "."]
        done = subprocess.run(
            command, cwd=project, env=environ, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout[-3000:]
        return done.stdout

    said = run("build", "--select", "daily_sales", "best_day", "source:mart.orders", "source:core.orders", "source:own")
    assert "ERROR=0" in said
    assert "FAIL" not in said
    assert "PASS freshness of mart.orders" in run("source", "freshness", "--select", "source:mart.orders")
    with duckdb.connect() as con:
        con.execute(f"attach '{release}/ordermart.duckdb' as ordermart (read_only)")
        con.execute(f"attach '{project}/shop.duckdb' as shop (read_only)")
        con.execute("use shop")
        best = con.execute("select currency, total_price from best_day").fetchall()
    by_day = "select sum(total_price) as total_price, currency from mart.orders group by business_date, currency"
    assert best == first.rows(f"select currency, max(total_price) from ({by_day}) group by currency")
