"""The wiring as Dagster's own tools see it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from pipelines.assets.home import dagster_home
from pipelines.assets.tables import CHECK
from pipelines.definitions import NIGHTLY, wiring
from pipelines.settings import load_settings
from pipelines.warehouse import Table, tables
from pipelines.warehouse.inputs import LANDED_KINDS, RAW

ROOT = Path(__file__).resolve().parents[2]


def test_the_asset_graph_is_the_catalogue() -> None:
    """Every table is an asset with its columns and its checks; besides them there is what is landed and published.

    Only what is executed has a step: a step, or a check, per table would cost more than the build.
    """
    repository = wiring(load_settings(environ={})).get_repository_def()
    graph = repository.asset_graph
    ours = {dg.AssetKey(table.name.split(".")) for table in tables()}
    raw = {dg.AssetKey(["raw", kind]) for kind in ("stores", "menus", "orders")}
    steps = raw | {dg.AssetKey(["warehouse"]), dg.AssetKey(["maintenance"])}
    assert set(graph.get_all_asset_keys()) == ours | steps | {dg.AssetKey(["release"])}
    assert set(graph.executable_asset_keys) == steps
    assert {check.asset_key for check in graph.asset_check_keys} == ours
    for table in tables():
        spec = graph.get_check_spec(dg.AssetCheckKey(dg.AssetKey(table.name.split(".")), CHECK))
        assert all(f"{check.name} ({check.severity}): {check.claim}" in spec.description for check in table.checks)
    assert repository.has_job(NIGHTLY)
    planned = repository.get_job(NIGHTLY).asset_layer
    assert set(planned.executable_asset_keys) == steps
    assert not planned.executable_asset_keys - steps
    for table in tables():
        schema = graph.get(dg.AssetKey(table.name.split("."))).metadata["dagster/column_schema"]
        assert [column.name for column in schema.columns] == [column.name for column in table.columns]


def _edges(table: Table) -> set[str]:
    """Return the assets that a table's SQL names, found in its text rather than by the catalogue."""
    gathered = " ".join(
        re.findall(r"^-- gathered from:? (.+)$", table.sql, re.MULTILINE)
    )  # by Python, not by the select
    sql = gathered + re.sub(r"--.*|'[^']*'", "", table.sql)
    names = {f"{schema}/{name}" for schema, name in re.findall(r"\b(raw|core|mart|audit)\.(\w+)", sql)}
    inputs = {name for name in names if name.startswith("raw/")}
    landed = {f"raw/{kind}" for name in inputs for kind in LANDED_KINDS[name.replace("/", ".")]}
    return (names - inputs - {table.name.replace(".", "/")}) | landed


def test_asset_edges_are_what_the_sql_reads() -> None:
    """A table depends on the tables it reads and on the kinds behind its inputs, whatever their names contain."""
    graph = wiring(load_settings(environ={})).get_repository_def().asset_graph
    found = {
        table.name: {key.to_user_string() for key in graph.get(dg.AssetKey(table.name.split("."))).parent_keys}
        for table in tables()
    }
    assert found == {table.name: _edges(table) for table in tables()}
    assert found["audit.inactive_periods"] == {"audit/loads", "mart/daily_store_sales"}
    assert found["audit.plans"] == {"raw/orders"}
    assert found["audit.quarantine"] == {"raw/stores", "raw/menus", "raw/orders"}


def test_every_asset_has_an_owner_a_kind_and_a_description() -> None:
    """Dagster's pages say of each asset what it is, what it is made of and whose it is; the data must stay fresh."""
    graph = wiring(load_settings(environ={})).get_repository_def().asset_graph
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.owners, key
        assert node.kinds, key
        assert node.description, key
    policy = graph.get(dg.AssetKey("warehouse")).freshness_policy
    assert policy is not None
    assert policy.fail_window.to_timedelta() == timedelta(hours=load_settings(environ={}).notify.max_age_hours)


def test_every_input_declares_its_kinds() -> None:
    """Each relation of schema raw says which kinds of documents are behind it."""
    assert LANDED_KINDS.keys() == RAW.keys()


@pytest.mark.slow
def test_dagsters_tools_load_the_workspace_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `dg dev -w workspace.yaml` loads first is valid, and nothing of ours warns."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = dagster_home(tmp_path / "data")
    done = subprocess.run(
        [Path(sys.executable).with_name("dagster"), "definitions", "validate", "-w", "workspace.yaml"],
        cwd=ROOT,
        env={
            **os.environ,
            "DAGSTER_HOME": str(home),
            "ORDERMART_DATA__DIR": str(tmp_path / "data"),
            # the command warns of itself: `dg` is to take its place
            "PYTHONWARNINGS": "ignore:Function `definitions_validate_command`",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warn" not in said.lower(), said
