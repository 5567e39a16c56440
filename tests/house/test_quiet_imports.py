"""Nothing happens at import: no network, no file, no process; and `--help` imports only typer."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Runs in a fresh interpreter: imports every module below a package and prints what each of them did.
WATCH = """
import importlib, json, os, pkgutil, sys
package, root, *before = sys.argv[1:]
sys.path.insert(0, root)
sys.dont_write_bytecode = True
done, now = [], None
LOUD = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.system",
        "os.exec", "os.fork", "os.posix_spawn", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link",
        "os.symlink", "os.truncate", "shutil.copyfile", "shutil.rmtree", "tempfile.mkstemp", "tempfile.mkdtemp",
        "sqlite3.connect", "urllib.Request", "webbrowser.open"}

def watch(event, arguments):
    if now is None:
        return
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path, mode, flags = os.path.abspath(os.fsdecode(arguments[0])), arguments[1], arguments[2]
        device = path.startswith("/dev/") and not path.startswith("/dev/shm/")
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not device
        # Reading: the code may be read, with the heads of its tables in sql/; settings, data and secrets may not.
        is_sql = path.startswith(os.path.join(root, "sql") + os.sep)
        is_code = is_sql or path.endswith((".py", ".pyc"))
        ours = not is_code and path.startswith(root + os.sep) and os.sep + ".venv" not in path
        if writes or (ours and not os.path.isdir(path)):
            done.append([now, ("writes " if writes else "reads ") + path])
    elif event in LOUD:
        done.append([now, event])

for stranger in before:
    importlib.import_module(stranger)
sys.addaudithook(watch)
top = importlib.import_module(package)
count = 0
for found in pkgutil.walk_packages(top.__path__, package + "."):
    if found.name.endswith(".__main__"):
        continue
    now = found.name
    importlib.import_module(found.name)
    now = None
    count += 1
print(json.dumps({"modules": count, "done": done}))
"""


def watched(package: str, root: Path, *before: str) -> tuple[int, list[list[str]]]:
    """Import a package's modules in a fresh interpreter; return how many, and [module, deed] for what they did.

    The import of packages in `before` is not watched.
    """
    command = [sys.executable, "-c", WATCH, package, str(root), *before]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr[-2000:]
    report = json.loads(said.stdout.splitlines()[-1])
    return report["modules"], report["done"]


@pytest.mark.slow
def test_importing_a_package_does_nothing(project: Path) -> None:
    """No module of pipelines/ opens a socket, a database, a process or a file of the project when it is imported."""
    # Dagster asks the program `file` whether Python has 32 bits.
    modules, done = watched("pipelines", project, "dagster")
    assert modules >= len(list((project / "pipelines").glob("*/__init__.py")))
    assert done == []


@pytest.mark.parametrize(
    ("source", "deed"),
    [
        ("import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))", "socket.connect"),
        ("open(__file__ + '.log', 'a').close()", "writes "),
        ("import pathlib\npathlib.Path(__file__).with_name('made').mkdir()", "os.mkdir"),
        ("import pathlib\npathlib.Path(__file__).with_name('settings.toml').read_text()", "reads "),
        ("import sqlite3\nsqlite3.connect(':memory:')", "sqlite3.connect"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", "subprocess.Popen"),
    ],
)
def test_a_planted_deed_is_seen(tmp_path: Path, source: str, deed: str) -> None:
    """Each kind of thing that must not happen at import is seen when it does."""
    package = tmp_path / "loud"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "settings.toml").touch()
    (package / "room.py").write_text(source, encoding="utf-8")
    modules, done = watched("loud", tmp_path)
    assert modules == 1
    assert done
    assert done[0][0] == "loud.room"
    assert done[0][1].startswith(deed)


# Runs in a fresh interpreter: prints the help of an entry point, then the third-party packages it imported.
HELP = """
import importlib, sys
module, *words = sys.argv[1:]
before = set(sys.modules)
sys.argv = ["ordermart", *words]
try:
    importlib.import_module(module).main()
except SystemExit:
    pass
new = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print("imported:", *sorted(new))
"""


def imported_by(module: str, *words: str, path: Path) -> set[str]:
    """Return the packages outside the standard library that `module.main()` imports when called with these words."""
    said = subprocess.run(
        [sys.executable, "-c", HELP, module, *words], cwd=path, capture_output=True, text=True, timeout=60, check=True
    )
    found = set(said.stdout.splitlines()[-1].split()[1:])
    return {name for name in found if not name.startswith("_sysconfigdata")}  # generated, named after the platform


def with_requirements(name: str) -> set[str]:
    """Return a distribution and everything that it requires, as names of packages."""
    names, waiting = set(), [name]
    while waiting:
        distribution = waiting.pop()
        if distribution not in names:
            names.add(distribution)
            requires = importlib.metadata.requires(distribution) or []
            waiting += [re.split(r"[^\w.-]", text)[0] for text in requires if ";" not in text]
    return {re.sub(r"[-.]", "_", found).lower() for found in names}


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["close", "--help"]])
def test_help_imports_only_typer(project: Path, words: list[str]) -> None:
    """`--help` of the program, of a command and of a group imports our commands, typer and what typer requires."""
    found = imported_by("pipelines.cli", *words, path=project)
    assert {"pipelines", "typer"} <= found
    assert found - {"pipelines"} <= with_requirements("typer")


def test_another_import_is_found(tmp_path: Path) -> None:
    """An entry point that imports DuckDB is seen, also when it does so in main()."""
    (tmp_path / "slow.py").write_text("import typer\ndef main():\n    import duckdb\n    raise SystemExit\n", "utf-8")
    assert "duckdb" in imported_by("slow", path=tmp_path) - with_requirements("typer")
