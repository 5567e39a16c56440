"""How the suite runs, on made-up tests: shares of a week, time that is up, luck, and what stands at the end."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import turn_of

if TYPE_CHECKING:
    from pathlib import Path

MADE_UP = """
import os, pathlib, time
import pytest
from tests import forked

@pytest.mark.long
@pytest.mark.parametrize("number", range(30))
def test_long(number):
    pathlib.Path(os.environ["RAN"]).open("a").write(f"{number} ")

@pytest.mark.slow
def test_slow():
    pathlib.Path(os.environ["RAN"]).open("a").write("slow ")

@pytest.mark.luck("the second time it passes")
def test_needs_luck(tmp_path):
    tries = pathlib.Path(os.environ["RAN"])
    tries.open("a").write("tried ")
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
    assert tries.read_text().count("tried") == 2

@pytest.mark.luck("never", tries=3)
def test_has_no_luck():
    raise AssertionError

def test_forks_a_command():
    assert forked.ordermart(("--help",), dict(os.environ), timeout=250).returncode == 0
"""


@pytest.fixture
def suite(project: Path, tmp_path: Path) -> Path:
    """Return a project whose tests are made up, and run as ours are."""
    root = tmp_path / "suite"
    (root / "tests").mkdir(parents=True)
    shutil.copy(project / "pyproject.toml", root)
    for name in ("conftest.py", "forked.py"):
        shutil.copy(project / "tests" / name, root / "tests")
    (root / "pipelines").symlink_to(project / "pipelines")
    (root / "tests" / "test_made_up.py").write_text(MADE_UP, encoding="utf-8")
    return root


def run(root: Path, *arguments: str) -> tuple[str, list[str]]:
    """Run the made-up tests; return what pytest said, and what ran."""
    ran = root / "ran"
    ran.write_text("")
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "RAN": str(ran)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    return said.stdout + said.stderr, ran.read_text().split()


def test_each_test_has_one_day_of_seven() -> None:
    """Whatever the day on which the seven begin, a name is chosen on one of them, and the days share the names."""
    first = dt.date(2026, 12, 28)
    names = [f"tests/a/test_b.py::test_c[{number}]" for number in range(700)]
    for start in range(10):
        days = [first + dt.timedelta(days=start + day) for day in range(7)]
        chosen = [[name for name in names if turn_of(name, day)] for day in days]
        assert sorted(name for of_day in chosen for name in of_day) == sorted(names)
        assert all(60 < len(of_day) < 140 for of_day in chosen)


@pytest.mark.slow
def test_a_share_of_the_long_tests_runs_and_is_printed(suite: Path) -> None:
    """A day's share runs on whichever worker, and no other; where the time is up its tests are named, and not run."""
    day = dt.date(2026, 3, 1)
    names = [f"tests/test_made_up.py::test_long[{number}]" for number in range(30)]
    turn = {name for name in names if turn_of(name, day)}
    said, ran = run(suite, "-m", "long", "-n", "2", "--share-of-day", day.isoformat())
    assert {f"tests/test_made_up.py::test_long[{number}]" for number in ran} == turn
    assert set(re.findall(r"(?m)^of the day: (.+)$", said)) == turn
    said, ran = run(suite, "-m", "long", "-n", "0", "--share-of-day", day.isoformat(), "--begin-within", "0")
    assert set(re.findall(r"(?m)^not reached: (.+)$", said)) == turn
    assert ran == []


@pytest.mark.slow
def test_a_slow_machine_leaves_slow_tests_out_and_names_them(suite: Path) -> None:
    """Once the time is up, slow tests are named and left out, and the others run."""
    said, ran = run(suite, "-m", "not long", "-n", "2", "--begin-within", "0")
    assert re.findall(r"(?m)^not reached: (.+)$", said) == ["tests/test_made_up.py::test_slow"]
    assert (ran, "1 failed, 2 passed, 1 skipped" in said) == (["tried", "tried"], True)
    said, ran = run(suite, "-m", "slow", "-n", "2", "--begin-within", "200")
    assert (ran, "not reached" in said) == (["slow"], False)


@pytest.mark.slow
def test_luck_is_tried_again_and_the_time_is_printed(suite: Path) -> None:
    """A test that needs luck passes by its second try, with a new folder; its reason is printed, and the time."""
    said, ran = run(suite, "-n", "1", "-m", "not long")
    assert sorted(ran) == ["slow", "tried", "tried"]
    assert "unlucky: tests/test_made_up.py::test_needs_luck (failed 1 times: the second time it passes)" in said
    assert "FAILED tests/test_made_up.py::test_has_no_luck" in said
    assert "1 failed, 3 passed" in said
    took = re.search(r"(?m)^took (\d+) s of CPU, (\d+) s elapsed$", said)
    assert took
    assert int(took[1]) >= 2  # two processes of pytest, and the one that forks commands, import what they need
