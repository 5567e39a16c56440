""".ci/run with programs that only say that they ran: the order of its steps, and where it stops."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_INSTALL = "-m pip install -q --disable-pip-version-check --require-hashes --no-deps -r"
INSTALL_READERS = f"python-readers {_INSTALL} requirements-readers.lock"
INSTALL_DBT = f"python-dbt {_INSTALL} requirements-dbt.lock"
STORAGE = [
    f"python-storage {_INSTALL} requirements-storage.lock",
    "npm install --silent --no-fund --no-audit --no-package-lock --prefix .venv-storage s3rver@3.7.1",
]
ON_DBT = "python bootstrap.py test -n 0 -m dbt tests/own/test_dbt.py"
INSTALL_BEANCOUNT = f"python-beancount {_INSTALL} requirements-beancount.lock"
ON_BEANCOUNT = "python bootstrap.py test -n 0 --all tests/closing/test_journal.py -k beancount"
READERS = [
    "python-readers tests/readers.py data/published/current duckdb spark",
    "python bootstrap.py test -n 0 -m readers tests/warehouse/test_every_reader.py tests/own/test_object_storage.py",
]
STEPS = [
    "python bootstrap.py setup",
    "ruff check .",
    "ruff format --check .",
    "mypy ",
    "python -m venv --clear .venv-storage",
    *STORAGE,
    "python bootstrap.py test --all --durations 40 --begin-within 2500",
    "python bootstrap.py test --long --share-of-day today --begin-within 480",
    "python bootstrap.py run --orders 500",
    "python -m venv --clear .venv-readers",
    INSTALL_READERS,
    *READERS,
    "python bootstrap.py setup .venv-duckdb2",
    "python bootstrap.py test-duckdb2",
    "python -m venv --clear .venv-dbt",
    INSTALL_DBT,
    ON_DBT,
    "python -m venv --clear .venv-beancount",
    INSTALL_BEANCOUNT,
    ON_BEANCOUNT,
    "python -m venv --clear .venv-ray",
]
INSTALL = f"python-ray {_INSTALL} requirements-ray.lock"
ON_RAY = "python-ray -m pytest -n 0 -m ray tests/warehouse/test_ray.py"
ON_RAY_AGAIN = (
    "python-ray -m pytest -n 0 -m ray --last-failed --last-failed-no-failures none -v tests/warehouse/test_ray.py"
)
TESTS, AGAIN = STEPS[7], "python bootstrap.py test --all --last-failed --last-failed-no-failures none -n 0 -v"
LONG_AGAIN = AGAIN.replace("--all", "--long")
STAND_IN = """#!/bin/sh
echo "{name} $*" >> "$LOG"
! echo "$FAIL" | grep -qxF -- "{name} $*" || exit "${{CODE:-1}}"
"""


@pytest.fixture
def clone(project: Path, tmp_path: Path) -> Path:
    """Return a folder with .ci/run and stand-ins for every program that it calls."""
    root = tmp_path / "clone"
    shutil.copytree(project / ".ci", root / ".ci")
    (root / "tests").mkdir()
    places = {
        "python": root / "bin",
        "apt-get": root / "bin",
        "java": root / "bin",
        "npm": root / "bin",
        "ruff": root / ".venv" / "bin",
        "mypy": root / ".venv" / "bin",
    }
    for name, folder in places.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(STAND_IN.format(name=name), encoding="utf-8")
        (folder / name).chmod(0o755)
    lane = root / ".venv-duckdb2" / "bin" / "python"
    lane.parent.mkdir(parents=True)
    lane.write_text("#!/bin/sh\n", encoding="utf-8")
    lane.chmod(0o755)
    for name in (".venv", ".venv-ray", ".venv-readers", ".venv-dbt", ".venv-beancount", ".venv-storage"):
        (root / name / "lib" / "python3" / "site-packages").mkdir(parents=True)
    for name in ("ray", "readers", "dbt", "beancount", "storage"):
        lane = root / f".venv-{name}" / "bin" / "python"
        lane.parent.mkdir()
        lane.write_text(STAND_IN.format(name=f"python-{name}"), encoding="utf-8")
        lane.chmod(0o755)
    return root


def run(clone: Path, *fail: str, code: int = 1) -> tuple[int, list[str], str]:
    """Run .ci/run from elsewhere, where some commands end with `code`; return its exit code, what ran, what it said."""
    log = clone / "log"
    log.unlink(missing_ok=True)
    said = subprocess.run(
        ["bash", str(clone / ".ci" / "run")],
        cwd=clone.parent,
        env=os.environ
        | {"PYTHON": "python", "PATH": f"{clone}/bin:{os.environ['PATH']}", "LOG": str(log)}
        | {"FAIL": "\n".join(fail), "CODE": str(code)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ran = [line for line in log.read_text("utf-8").splitlines() if line != "python --version"]
    return said.returncode, ran, said.stdout


def test_every_step_runs_in_order(clone: Path) -> None:
    """With nothing wrong all steps run, each is announced, and the last line says so."""
    code, ran, said = run(clone)
    assert (code, ran) == (0, [*STEPS, INSTALL, ON_RAY])
    assert said.count("\n== ") == len(STEPS) - len(
        [*STORAGE, INSTALL_READERS, *READERS, INSTALL_DBT, ON_DBT, INSTALL_BEANCOUNT, ON_BEANCOUNT]
    )  # parts of a step each
    assert said.splitlines()[-1].startswith("== all passed")


@pytest.mark.parametrize(
    "step",
    [
        *(step for step in STEPS if step not in (*STORAGE, INSTALL_READERS, INSTALL_DBT, INSTALL_BEANCOUNT)),
        ON_RAY,
    ],
)
def test_it_stops_at_the_first_failure(clone: Path, step: str) -> None:
    """A step that fails is the last one, and the exit code is not zero."""
    code, ran, said = run(clone, step, AGAIN, LONG_AGAIN, ON_RAY_AGAIN)
    assert code != 0
    assert [each for each in ran if each not in (AGAIN, LONG_AGAIN, ON_RAY_AGAIN)] == [*STEPS, INSTALL, ON_RAY][
        : [*STEPS, INSTALL, ON_RAY].index(step) + 1
    ]
    assert "all passed" not in said


def test_tests_on_ray_are_skipped_by_name_where_it_cannot_be_had(clone: Path) -> None:
    """Without Ray the run goes on to its end, and says which tests did not run."""
    code, ran, said = run(clone, INSTALL)
    assert (code, ran) == (0, [*STEPS, INSTALL])
    assert "skipped: tests marked ray" in said


def test_readers_are_skipped_by_name_where_they_cannot_be_had(clone: Path) -> None:
    """Without Spark the run goes on to its end, and says which tests did not run."""
    code, ran, said = run(clone, INSTALL_READERS)
    assert (code, ran) == (0, [*(step for step in STEPS if step not in READERS), INSTALL, ON_RAY])
    assert "skipped: tests marked readers" in said


def test_dbt_is_skipped_by_name_where_it_cannot_be_had(clone: Path) -> None:
    """Without dbt-duckdb the run goes on to its end, and says which tests did not run."""
    code, ran, said = run(clone, INSTALL_DBT)
    assert (code, ran) == (0, [*(step for step in STEPS if step != ON_DBT), INSTALL, ON_RAY])
    assert "skipped: tests marked dbt" in said


def test_bean_check_is_skipped_by_name_where_it_cannot_be_had(clone: Path) -> None:
    """Without beancount the run goes on to its end, and says which test did not run."""
    code, ran, said = run(clone, INSTALL_BEANCOUNT)
    assert (code, ran) == (0, [*(step for step in STEPS if step != ON_BEANCOUNT), INSTALL, ON_RAY])
    assert "skipped: bean-check" in said


def test_a_test_that_fails_once_is_tried_alone(clone: Path) -> None:
    """What passes alone is no fault, but said; a suite that did not run to its end is not tried again."""
    code, ran, said = run(clone, TESTS)
    assert (code, ran) == (0, [*STEPS[:8], AGAIN, *STEPS[8:], INSTALL, ON_RAY])
    assert "flaky" in said
    code, ran, said = run(clone, TESTS, code=3)
    assert code != 0
    assert ran == STEPS[:8]
    code, ran, said = run(clone, ON_RAY)
    assert (code, ran[-2:]) == (0, [ON_RAY, ON_RAY_AGAIN])


def test_debian_packages_come_only_for_tests_that_need_them(clone: Path) -> None:
    """A marker on a test brings the packages of its line, when their program is absent."""
    script = clone / ".ci" / "run"
    line = 'need slow no-such-program first-package second-package\n\nsay "set up'
    script.write_text(script.read_text("utf-8").replace('\nsay "set up', line, 1), encoding="utf-8")
    assert not any(ran.startswith("apt-get") for ran in run(clone)[1])
    (clone / "tests" / "test_x.py").write_text("@pytest." + "mark.slow\ndef test_x(): ...\n", encoding="utf-8")
    _, ran, said = run(clone)
    assert ran[0] == "apt-get update -qq"
    assert ran[1].startswith("apt-get install")
    assert ran[1].endswith("first-package second-package")
    assert "Debian packages for tests marked slow" in said
