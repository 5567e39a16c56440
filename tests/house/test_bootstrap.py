"""bootstrap.py on a project of one small package: fresh, again, moved, half made, and on poor Pythons.

The package and the build are made here, so that nothing is fetched.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

BACKEND = """
import os, pathlib, time, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    if os.environ.get("TEST_WAIT"):
        pathlib.Path(os.environ["TEST_WAIT"]).touch()
        time.sleep(60)
    info = "ordermart-1.0.dist-info/"
    with zipfile.ZipFile(pathlib.Path(folder, "ordermart-1.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("ordermart.pth", os.getcwd())
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ordermart\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\nordermart = entrance:main\\n")
        wheel.writestr(info + "RECORD", "".join(name + ",,\\n" for name in [*wheel.namelist(), info + "RECORD"]))
    return "ordermart-1.0-py3-none-any.whl"
"""
ENTRANCE = "import os, sys, tiny\ndef main():\n    print(tiny.TEXT, os.getcwd(), *sys.argv[1:])\n    return 3\n"
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "ordermart"
version = "1.0"
"""


def lock_tiny(root: Path, text: str, *, name: str = "tiny", lock: str = "requirements.lock") -> None:
    """Make a package of one module, which holds a text, and lock it with its hash."""
    wheels = root / "wheels"
    wheels.mkdir(exist_ok=True)
    wheel, info = wheels / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info/"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", f"TEXT = {text!r}\n")
        archive.writestr(f"idle_{name}.py", "")
        archive.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(info + "RECORD", "".join(f"{entry},,\n" for entry in [*archive.namelist(), info + "RECORD"]))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (root / lock).write_text(f"{name}==1.0 \\\n    --hash=sha256:{digest}\n    # via nothing\n", encoding="utf-8")


@pytest.fixture
def clone(project: Path, tmp_path: Path) -> Path:
    """Return a project that bootstrap.py can set up."""
    root = tmp_path / "a clone"
    root.mkdir()
    shutil.copy(project / "bootstrap.py", root)
    (root / "backend.py").write_text(BACKEND, encoding="utf-8")
    (root / "entrance.py").write_text(ENTRANCE, encoding="utf-8")
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    lock_tiny(root, "first")
    lock_tiny(root, "a tool", name="tool", lock="requirements-dev.lock")
    return root


def environment(root: Path, **more: str) -> dict[str, str]:
    """Return an environment in which pip finds only what this test made."""
    return os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": (root / "wheels").as_uri()} | more


def bootstrap(
    root: Path, *arguments: str, python: str = sys.executable, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a clone's bootstrap.py."""
    return subprocess.run(
        [python, str(root / "bootstrap.py"), *arguments],
        cwd=cwd or root,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def poor_python(folder: Path, *, pip: bool) -> str:
    """Return a Python without ensurepip, as Debian's is without python3-venv; with pip beside it or without."""
    base = Path(sys.base_prefix)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = folder / "lib" / name
    (library / "site-packages").mkdir(parents=True)
    (folder / "bin").mkdir()
    python = folder / "bin" / name
    shutil.copy(base / "bin" / name, python)
    for entry in (base / "lib" / name).iterdir():
        if entry.name not in {"ensurepip", "site-packages"}:
            (library / entry.name).symlink_to(entry)
    for entry in (base / "lib" / name / "site-packages").glob("pip*") if pip else ():
        (library / "site-packages" / entry.name).symlink_to(entry)
    said = subprocess.run(
        [python, "-c", "import sys, ensurepip"], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    if "No module named 'ensurepip'" not in said.stderr:
        pytest.skip("this Python cannot be copied without its ensurepip")
    return str(python)


def test_an_old_python_can_read_it(project: Path) -> None:
    """The syntax is that of Python 3.7, so that an older one than 3.11 gets as far as the sentence about it."""
    ast.parse((project / "bootstrap.py").read_text("utf-8"), feature_version=(3, 7))


def test_bootstrap_rejects_unsupported_python(project: Path) -> None:
    """Under Python 3.10 it ends with one sentence, before anything else is imported."""
    code = "import runpy, sys; sys.version_info = (3, 10, 4); runpy.run_path(sys.argv[1], run_name='__main__')"
    said = subprocess.run(
        [sys.executable, "-c", code, str(project / "bootstrap.py")], capture_output=True, text=True, check=False
    )
    assert said.returncode == 1
    assert said.stderr.startswith("ordermart needs Python 3.11 or later; this is Python 3.10 ")
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize(("words", "code"), [([], 2), (["help"], 0), (["--help"], 0), (["runn"], 2)])
def test_it_says_how_it_is_used(clone: Path, words: list[str], code: int) -> None:
    """Without a command, or with one that it does not know, it shows the commands and makes nothing."""
    said = bootstrap(clone, *words)
    assert said.returncode == code
    assert "python3 bootstrap.py test [--all | --long]" in said.stdout
    assert not (clone / ".venv").exists()


@pytest.mark.slow
def test_a_clone_runs_at_once_and_from_elsewhere(clone: Path, tmp_path: Path) -> None:
    """The first run sets up and passes arguments and the exit code through; the second does not install again."""
    first = bootstrap(clone, "run", "--orders", "5", cwd=tmp_path)
    assert (first.stdout, first.stderr, first.returncode) == (f"first {tmp_path} demo --orders 5\n", "", 3)
    made = (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    second = bootstrap(clone, "run", cwd=tmp_path)
    assert second.stdout == f"first {tmp_path} demo\n"
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == made


@pytest.mark.slow
def test_running_needs_no_tools(clone: Path) -> None:
    """`run` installs the first lock, `setup` adds the tools to the same environment, and `run` keeps them."""
    bootstrap(clone, "run")
    stored = (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    (packages,) = (clone / ".venv").glob("lib/*/site-packages")
    assert (packages / "tiny.py").exists()
    assert not (packages / "tool.py").exists()
    assert not list(packages.glob("__pycache__/idle*"))
    assert bootstrap(clone, "setup", "--run").returncode == 0
    assert [file.name.split(".")[0] for file in packages.glob("__pycache__/idle*")] == ["idle_tiny"]
    assert bootstrap(clone, "setup").returncode == 0
    assert (packages / "tool.py").exists()
    lock_tiny(clone, "a newer tool", name="tool", lock="requirements-dev.lock")
    assert bootstrap(clone, "run").stdout.startswith("first ")
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == stored
    bootstrap(clone, "setup")
    assert (packages / "tool.py").read_text("utf-8") == "TEXT = 'a newer tool'\n"


@pytest.mark.long
def test_a_changed_lock_is_installed_again(clone: Path) -> None:
    """Another lock means another environment; a changed pyproject only installs the project again."""
    bootstrap(clone, "setup")
    made = (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    (clone / "pyproject.toml").write_text(PYPROJECT + 'description = "new"\n', encoding="utf-8")
    assert bootstrap(clone, "run").stdout.startswith("first ")
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == made
    lock_tiny(clone, "second")
    assert bootstrap(clone, "run").stdout.startswith("second ")
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns != made


@pytest.mark.long
def test_a_killed_set_up_is_made_again(clone: Path, tmp_path: Path) -> None:
    """After a kill in the middle of the install nothing of the half-made environment is trusted."""
    waits = tmp_path / "waits"
    process = subprocess.Popen(
        [sys.executable, str(clone / "bootstrap.py"), "run"],
        env=environment(clone, TEST_WAIT=str(waits)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not waits.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert waits.exists()
    assert (clone / ".venv").exists()
    (clone / ".venv" / "left-over").touch()
    assert bootstrap(clone, "run").stdout.startswith("first ")
    assert not (clone / ".venv" / "left-over").exists()


@pytest.mark.long
def test_a_moved_clone_is_set_up_again(clone: Path, tmp_path: Path) -> None:
    """Programs name their environment's folder: a clone that was moved gets a new one."""
    bootstrap(clone, "setup")
    moved = clone.rename(tmp_path / "moved")
    assert bootstrap(moved, "run").stdout.startswith("first ")
    assert str(clone) not in (moved / ".venv" / "bin" / "ordermart").read_text("utf-8")


@pytest.mark.long
def test_an_environment_without_its_python_is_made_again(clone: Path) -> None:
    """An environment whose Python is gone is not believed, whatever its stamp says."""
    bootstrap(clone, "setup")
    (clone / ".venv" / "bin" / "python").unlink()
    assert bootstrap(clone, "run").stdout.startswith("first ")


@pytest.mark.slow
def test_a_wrong_hash_is_refused(clone: Path) -> None:
    """A package that is not the one that was locked is not installed, and pip's reason is shown."""
    lock = clone / "requirements.lock"
    lock.write_text("tiny==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n", encoding="utf-8")
    said = bootstrap(clone, "run")
    assert said.returncode == 1
    assert said.stderr.startswith("bootstrap: pip could not install requirements.lock")
    assert "do not match the hashes" in said.stderr.lower()
    assert bootstrap(clone, "setup").returncode == 1


def test_half_a_clone_is_said_to_be_one(clone: Path) -> None:
    """Without its lock the project is not set up."""
    (clone / "requirements.lock").unlink()
    said = bootstrap(clone, "run")
    assert said.returncode == 1
    assert "requirements.lock is missing: is this a whole clone?" in said.stderr


@pytest.mark.slow
def test_pip_outside_serves_where_ensurepip_is_missing(clone: Path, tmp_path: Path) -> None:
    """A Python whose venv cannot bring pip installs with the pip beside it."""
    python = poor_python(tmp_path / "poor", pip=True)
    said = bootstrap(clone, "run", python=python)
    assert (said.stdout.split()[0], said.returncode) == ("first", 3)
    assert not (clone / ".venv" / "bin" / "pip").exists()
    assert bootstrap(clone, "run", python=python).stdout.startswith("first ")


def test_neither_pip_nor_ensurepip_is_said_in_a_sentence(clone: Path, tmp_path: Path) -> None:
    """A Python with neither ends with what to install."""
    said = bootstrap(clone, "run", python=poor_python(tmp_path / "poor", pip=False))
    assert said.returncode == 1
    assert said.stderr.startswith("bootstrap: this Python has neither pip 22.3 or later nor ensurepip.")
    assert not (clone / ".venv").exists()


@pytest.mark.long
def test_two_at_once_make_one_environment(clone: Path) -> None:
    """The second waits for the first, and both run."""
    two = [
        subprocess.Popen(
            [sys.executable, str(clone / "bootstrap.py"), "run"],
            env=environment(clone),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in two]
    assert [out.split()[0] for out, _ in said] == ["first", "first"]
    assert sum("waiting for it" in errors for _, errors in said) == 1


@pytest.mark.parametrize("is_terminal", [True, False])
def test_set_up_shows_one_line_of_progress_on_a_terminal(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """Downloads are counted in one line, which is gone at the end; where nobody looks nothing is written."""
    pip = tmp_path / "pip.py"
    pip.write_text("print('Collecting one'); print('Collecting two'); print('Installing collected packages: one, two')")
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", written)
    runpy.run_path(str(project / "bootstrap.py"))["install"]([sys.executable, str(pip)], "requirements.lock", [])
    lines = written.getvalue().split("\r\033[K")
    assert lines == (
        ["", *(f"Setting up: requirements.lock, {each}" for each in ("fetching 1", "fetching 2", "installing 2")), ""]
        if is_terminal
        else [""]
    )
