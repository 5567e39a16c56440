"""Full builds on a real Ray cluster of two nodes, some of which are killed: the tables are those of a local build."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.warehouse.building.build import warehouse_file
from tests.histories import SETTINGS, run
from tests.ray_cluster import ADDRESS, Cluster, NoNamespacesError
from tests.warehouse.test_spread import HISTORY, difference

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed: requirements-ray.lock"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a world that a history left, built in full in this process, and a copy of its warehouse."""
    folder = tmp_path_factory.mktemp("world")
    world, _ = run(HISTORY, folder)
    world.build(full=True)
    shutil.copy(warehouse_file(world.data), folder / "local.duckdb")
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Give a cluster of a head and one more node."""
    yield from started(Cluster())


def started(cluster: Cluster) -> Iterator[Cluster]:
    """Give a cluster while it runs; skip the test where there are no namespaces."""
    try:
        with cluster:
            yield cluster
    except NoNamespacesError as error:
        pytest.skip(f"no namespaces here: {error}")


def build(cluster: Cluster, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build everything on the cluster."""
    config = str(folder / "ordermart.toml")
    small = {"ORDERMART_WAREHOUSE__BUCKETS": "2", "ORDERMART_ENGINE__TASK_MEMORY": "300MB"}
    engine = {"ORDERMART_ENGINE__NAME": "ray", "ORDERMART_ENGINE__ADDRESS": ADDRESS}
    return cluster.ordermart("build", "--full", "--config", config, **SETTINGS | small | engine | environ)


def require_same(folder: Path) -> None:
    """Raise where the warehouse is not that of the local build, or anything is left beside it."""
    file = folder / "data" / "warehouse" / "warehouse.duckdb"
    assert difference(folder / "local.duckdb", file) == []
    assert {each.name for each in file.parent.iterdir()} <= {"warehouse.duckdb", "spill"}


def test_a_worker_killed_in_a_task_leaves_no_trace(cluster: Cluster, folder: Path) -> None:
    """A part whose worker is killed before its first file is complete is made again: the tables are the same."""
    cluster.arm("worker", "stage-0.bucket-000002")
    done = build(cluster, folder)
    assert done.returncode == 0, done.stdout
    assert "worker" in cluster.struck()
    require_same(folder)


def test_signals_stay_with_the_command(cluster: Cluster) -> None:
    """A connection leaves SIGTERM to its earlier handler, so that a stopped run ends in order."""
    code = f"""
import signal
from pipelines.engines import RayCluster
signal.signal(signal.SIGTERM, print)
with RayCluster({ADDRESS!r}, "300MB", needs_token=True) as connected:
    assert signal.getsignal(signal.SIGTERM) is print
    print("width", connected.width())
"""
    done = cluster.run(sys.executable, "-c", code)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["width 2"]), done.stdout


def test_a_killed_driver_and_a_killed_node_leave_no_trace(cluster: Cluster, folder: Path) -> None:
    """A build whose driver was killed changes nothing; the next one, with the other node killed, gives the same."""
    file = folder / "data" / "warehouse" / "warehouse.duckdb"
    before = file.read_bytes()
    cluster.arm("driver", "stage-1.bucket-000001")
    assert build(cluster, folder).returncode == -9
    assert list(file.parent.glob("parts/*/*.parquet"))
    assert file.read_bytes() == before
    cluster.arm("node", "stage-0")
    done = build(cluster, folder)
    assert done.returncode == 0, done.stdout
    assert {"driver", "node"} <= {*cluster.struck()}
    require_same(folder)


def test_a_wrong_token_is_refused(cluster: Cluster, folder: Path) -> None:
    """A driver with another token than the cluster's ends with a sentence that names the address, not the token."""
    done = build(cluster, folder, RAY_AUTH_TOKEN="5" * 48)
    said = done.stdout.splitlines()[-1]
    assert (done.returncode, said.startswith(f"ordermart: the Ray cluster at {ADDRESS} cannot be used (")) == (1, True)
    assert "5" * 48 not in done.stdout


def test_an_open_cluster_is_refused(folder: Path) -> None:
    """A driver with a token does not use a cluster that serves anybody, unless a setting says so."""
    for cluster in started(Cluster(token=False, nodes=0)):
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 48}
        done = build(cluster, folder, **token)
        assert done.returncode == 1
        assert f"ordermart: the Ray cluster at {ADDRESS} answers without a token: start" in done.stdout
        too_large = build(
            cluster, folder, ORDERMART_SECURITY__ALLOW_OPEN_RAY="true", ORDERMART_ENGINE__TASK_MEMORY="50GB"
        )
        assert too_large.returncode == 1
        assert "has a processor and 50400 MB for a task" in too_large.stdout
