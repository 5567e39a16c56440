"""The wheel, built from the tracked files and installed into an environment of its own."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import os
import shutil
import site
import socket
import subprocess
import sys
import venv
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.sandbox.world import Config, World
from pipelines.vault import new_key_file
from pipelines.warehouse.release.manifest import code_version

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def bootstrap(project: Path) -> Any:
    """Return bootstrap.py as a module: it knows which pip installs into an environment."""
    spec = importlib.util.spec_from_file_location("bootstrap", project / "bootstrap.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(project: Path, tracked: list[Path], bootstrap: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, beside a module that an older build left behind."""
    folder = tmp_path_factory.mktemp("wheel")
    for file in tracked:
        copy = folder / "source" / file.relative_to(project)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    stale = folder / "source" / "build" / "lib" / "pipelines" / "deleted.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    pip = bootstrap.pip_of(project / ".venv") if (project / ".venv").exists() else [sys.executable, "-m", "pip"]
    offline = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *offline, "-w", str(folder), str(folder / "source")], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, bootstrap: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel where the dependencies, but not the checkout, can be imported; return `bin`."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(environment, with_pip=False)
    (packages,) = environment.glob("lib/*/site-packages")
    # A path file in a path file's folder is not read: an editable install of the checkout stays out of sight.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    pip = bootstrap.pip_of(environment)
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return environment / "bin"


def run(programs: Path, folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder, with no setting of this process."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ORDERMART_", "PYTHON"))}
    return subprocess.run(
        [str(programs / words[0]), *words[1:]],
        cwd=folder,
        env=clean | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def release_is_whole(release: Path, orders: int) -> None:
    """Assert that a release has so many orders, by this code."""
    assert (release / "ordermart.duckdb").stat().st_size > 0
    manifest = json.loads((release / "manifest.json").read_text("utf-8"))
    assert manifest["rows"]["core.orders"] >= orders
    assert manifest["code"]["sha256"] == code_version()["sha256"]


@pytest.mark.slow
def test_wheel_holds_the_resources_and_nothing_stale(wheel: Path, project: Path) -> None:
    """All of sql/, docs/models/ and the page, default settings and workspace are inside; a deleted module is not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = [path for folder in ("sql", "docs/models") for path in (project / folder).rglob("*.*")]
    sql = {f"pipelines/_resources/{path.relative_to(project)}" for path in shipped}
    assert len(sql) > 100
    page = {
        path.relative_to(project).as_posix() for path in (project / "pipelines" / "report" / "page").glob("*.[hc]*")
    }
    assert {"pipelines/report/page/morning.html", "pipelines/report/page/style.css"} <= page <= names
    assert names >= {*sql, "pipelines/_resources/ordermart.toml", "pipelines/_resources/workspace.yaml"}
    assert "pipelines/sandbox/__main__.py" in names
    assert "pipelines/deleted.py" not in names


@pytest.mark.slow
def test_installed_wheel_builds_a_release_in_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    """`ordermart land` and `build` publish below the current folder, from the wheel's own code."""
    world = World(Config(orders=40, stores=2, days=3))
    shown = (world.order(each, world.created(each) + dt.timedelta(days=2)) for each in world.order_ids)
    (tmp_path / "orders.ndjson").write_bytes(b"\n".join(text for text in shown if text))
    new_key_file(tmp_path / "keys.json")
    for words in (("land", "orders", "orders.ndjson"), ("build",)):
        said = run(
            programs, tmp_path, "ordermart", *words, ORDERMART_VAULT__KEY_FILE="keys.json",
            ORDERMART_WAREHOUSE__THREADS="1", ORDERMART_NOTIFY__MIN_FREE_GB="0",
        )  # fmt: skip
        assert said.returncode == 0, said.stdout + said.stderr[-2000:]
    release_is_whole(tmp_path / "data" / "published" / "current", 30)


# `.ci/run` plays the demo in a checkout, and the test above builds with what the wheel holds.
@pytest.mark.long
def test_installed_wheel_runs_the_demo_in_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    """`ordermart demo` publishes below the current folder, from the wheel's own code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base_url = f"http://127.0.0.1:{port}"
    said = run(
        programs, tmp_path, "ordermart", "demo", "--orders", "200", ORDERMART_PARTNER__BASE_URL=base_url,
        ORDERMART_WAREHOUSE__THREADS="1",
    )  # fmt: skip
    assert said.returncode == 0, said.stderr[-2000:]
    release_is_whole(tmp_path / "data" / "published" / "current", 100)


@pytest.mark.slow
def test_installed_wheel_reads_the_settings_of_the_current_folder(programs: Path, tmp_path: Path) -> None:
    """An ordermart.toml in the current folder is used; a key that it leaves out keeps the wheel's default."""
    code = (
        "from pipelines.settings import load_settings; import pipelines.resources as r; s = load_settings();"
        "print(r.CHECKOUT, s.data_dir, s.schedule.cron, s.partner.max_attempts)"
    )
    said = run(programs, tmp_path, "python", "-c", code)
    assert said.stdout.split() == ["None", str(tmp_path / "data"), "15", "3", "*", "*", "*", "12"], said.stderr
    (tmp_path / "ordermart.toml").write_text('[data]\ndir = "here"\n[partner]\nmax_attempts = 3\n', encoding="utf-8")
    said = run(programs, tmp_path, "python", "-c", code)
    assert said.stdout.split() == ["None", str(tmp_path / "here"), "15", "3", "*", "*", "*", "3"], said.stderr


@pytest.mark.slow
def test_installed_command_prints_its_version(programs: Path, tmp_path: Path, wheel: Path) -> None:
    """`ordermart --version` prints the version of the wheel."""
    assert run(programs, tmp_path, "ordermart", "--version").stdout == f"ordermart {wheel.name.split('-')[1]}\n"
