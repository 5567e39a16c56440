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

from pipelines.assets.dev import dagster_home
from pipelines.assets.flow import WARNINGS
from pipelines.definitions import wiring
from pipelines.record import KINDS_OF_RUNS
from pipelines.settings import load_settings
from pipelines.warehouse.catalogue.tables import Table, tables
from pipelines.warehouse.inputs.relations import LANDED_KINDS, RAW

ROOT = Path(__file__).resolve().parents[2]


def test_the_asset_graph_is_the_flow() -> None:
    """Raw documents, every table with its columns, and the release: nothing stands beside the flow."""
    repository = wiring(load_settings(environ={})).get_repository_def()
    graph = repository.asset_graph
    ours = {dg.AssetKey(table.name.split(".")) for table in tables()}
    raw = {dg.AssetKey(["raw", kind]) for kind in ("stores", "menus", "orders")}
    everything = ours | raw | {dg.AssetKey("release")}
    assert set(graph.get_all_asset_keys()) == everything == set(graph.executable_asset_keys)
    released = {dg.AssetKey(table.name.split(".")) for table in tables() if table.is_released}
    assert graph.get(dg.AssetKey("release")).parent_keys == released
    for table in tables():
        schema = graph.get(dg.AssetKey(table.name.split("."))).metadata["dagster/column_schema"]
        assert [column.name for column in schema.columns] == [column.name for column in table.columns]
    for kind in KINDS_OF_RUNS:
        job = repository.get_job(kind)
        assert set(job.asset_layer.executable_asset_keys) == everything
        assert job.tags["dagster/max_runtime"] == "43200"


def test_each_blocking_claim_is_a_check_of_its_name() -> None:
    """The warnings of a table share one check, whose description names them."""
    graph = wiring(load_settings(environ={})).get_repository_def().asset_graph
    wanted = {
        (check.table, check.name.partition("__")[2] if check.severity == "blocking" else WARNINGS): check.claim
        for table in tables()
        for check in table.checks
    }
    assert {(".".join(key.asset_key.path), key.name) for key in graph.asset_check_keys} == wanted.keys()
    for (table, name), claim in wanted.items():
        spec = graph.get_check_spec(dg.AssetCheckKey(dg.AssetKey(table.split(".")), name))
        assert claim in (spec.description or "")


def _edges(table: Table) -> set[str]:
    """Return the assets that a table's SQL names, found in its text rather than by the catalogue."""
    gathered = " ".join(
        re.findall(r"^-- gathered from:? (.+)$", table.sql, re.MULTILINE)
    )  # by Python, not by the select
    sql = gathered + re.sub(r"--.*|'[^']*'", "", table.sql)
    names = {f"{schema}/{name}" for schema, name in re.findall(r"\b(raw|core|mart|audit|workings)\.(\w+)", sql)}
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
    assert found["audit.quarantine"] == {"raw/stores", "raw/menus", "raw/orders"}


def test_every_asset_has_an_owner_a_kind_and_a_description() -> None:
    """Dagster's pages say of each asset what it is, what it is made of and whose it is."""
    graph = wiring(load_settings(environ={})).get_repository_def().asset_graph
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.owners, key
        assert node.kinds, key
        assert node.description, key


@pytest.mark.parametrize(
    ("fresh_by", "cron", "deadline", "hours"),
    [("06:00", "15 3 * * *", "0 6 * * *", 2.75), ("07:30", "@daily", "30 7 * * *", 7.5), ("", "@daily", "", 0)],
)
def test_a_release_is_due_by_the_time_of_the_settings(fresh_by: str, cron: str, deadline: str, hours: float) -> None:
    """Between the schedule's tick and the deadline a night has to end; without a deadline nothing is overdue."""
    environ = {"ORDERMART_SCHEDULE__FRESH_BY": fresh_by, "ORDERMART_SCHEDULE__CRON": cron}
    graph = wiring(load_settings(environ=environ)).get_repository_def().asset_graph
    policy = graph.get(dg.AssetKey("release")).freshness_policy
    wanted = dg.FreshnessPolicy.cron(deadline, timedelta(hours=hours), "UTC") if deadline else None
    assert policy == wanted


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
