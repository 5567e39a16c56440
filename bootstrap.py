#!/usr/bin/env python3
"""Set ordermart up in a fresh clone, then run the demo or the tests.

Needs git, Python 3.11 or later and pip, and nothing that is installed by pip: only the standard library.
After the set-up it becomes `ordermart` or pytest.

    python3 bootstrap.py run [ARGUMENTS of ordermart demo]
    python3 bootstrap.py test [--all | --long] [ARGUMENTS of pytest]
    python3 bootstrap.py test-duckdb2 [ARGUMENTS of pytest]
    python3 bootstrap.py setup [--run]

`run` and `setup --run` install what running needs; `test` and `setup` add the tools of development.
"""

import sys

# An older Python must be able to parse the whole file: no newer syntax anywhere.
if sys.version_info < (3, 11):  # noqa: UP036 - checked here, since no package metadata has been read yet
    sys.exit(
        f"ordermart needs Python 3.11 or later; this is Python {sys.version_info[0]}.{sys.version_info[1]} "
        f"({sys.executable}). Run bootstrap.py with a newer one."
    )

try:
    import fcntl
except ImportError:
    sys.exit("ordermart runs on Linux and macOS; on Windows use the Linux that comes with it (WSL).")
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
LOCK, TOOLS = "requirements.lock", "requirements-dev.lock"
RUNNING = (LOCK,)
# Later locks are installed over earlier ones.
ENVIRONMENTS = {
    ".venv": (*RUNNING, TOOLS),
    ".venv-duckdb2": (*RUNNING, TOOLS, "requirements-duckdb2.lock"),
}
OLDEST_PIP = (22, 3)  # the first that installs into another environment
# pip settings of this user that would send packages elsewhere than into the environment.
MISLEADING = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV")
USAGE = (__doc__ or "").split("\n\n", 2)[2]


class SetupError(Exception):
    """The environment cannot be created; the message says what to do."""


def main(arguments: list[str]) -> NoReturn:
    """Set up, then become the requested command."""
    command, rest = (arguments[0] if arguments else ""), arguments[1:]
    try:
        if command == "run":
            become([str(set_up(".venv", RUNNING) / "ordermart"), "demo", *rest])
        if command == "test":
            # Without --all tests marked slow are left out: see addopts in pyproject.toml.
            # Slow tests wait more than others: with them there are three workers more than cores.
            lanes = {"--all": ["-m", "not long", "-n", str(cores() + 3)], "--long": ["-m", "long"]}
            chosen = [word for argument in rest for word in lanes.get(argument, [argument])]
            test(set_up(".venv"), chosen)
        if command == "test-duckdb2":
            # the default lane, and what of the slow one must hold there too
            test(set_up(".venv-duckdb2"), ["-m", "(not slow and not long) or sample or duckdb2", *rest])
        if command == "setup":
            locks = RUNNING if "--run" in rest else None
            for name in [word for word in rest if word != "--run"] or [".venv"]:
                compile_all(set_up(name, locks))
            sys.exit(0)
    except (SetupError, OSError) as error:
        sys.exit(f"bootstrap: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(USAGE)
    sys.exit(0 if command in {"help", "-h", "--help"} else 2)


def test(programs: Path, arguments: list[str]) -> NoReturn:
    """Become pytest, in the project's folder; a later `-n 0` takes one process.

    The workers share the tests by stealing work: with `loadfile` pytest-xdist 3.8 hangs for ever once one crashes.
    """
    os.chdir(ROOT)
    become([str(programs / "python"), "-m", "pytest", "-n", str(cores()), "--dist", "worksteal", *arguments])


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def become(command: list[str]) -> NoReturn:
    """Replace this process, so that signals and the exit code are the command's own."""
    sys.stdout.flush()
    # Tests and the demo start hundreds of processes; without bytecode each compiles the same files again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not Path(command[0]).exists():
        raise SetupError(f"{command[0]} is missing; remove {Path(command[0]).parents[1]} and run again")
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def set_up(name: str, locks: "tuple[str, ...] | None" = None) -> Path:
    """Create the environment `name` unless it has what is wanted; return the folder of its programs.

    Without `locks`, all of the environment's are wanted. Those that were not wanted before are installed over it.
    """
    if name not in ENVIRONMENTS:
        raise SetupError("no environment {}: one of {}".format(name, ", ".join(ENVIRONMENTS)))
    environment = ROOT / name
    programs = environment / "bin"
    python, project, wanted = what_determines(locks or ENVIRONMENTS[name])
    with only_one(ROOT / (name + ".lock")):
        found = read_stamp(environment)
        has = found.get("locks")
        is_kept = (
            (programs / "python").exists()
            and isinstance(has, dict)
            and found.get("python") == python
            and all(has.get(lock, digest) == digest for lock, digest in wanted.items())
        )
        held = dict(has) if is_kept and isinstance(has, dict) else {}
        lacked = [lock for lock in wanted if lock not in held]
        if not lacked and found.get("project") == project:
            return programs
        stamp = environment / "ordermart.json"
        stamp.unlink(missing_ok=True)  # first, so that a kill from here on leaves no stamp
        pip = pip_of(environment) if is_kept else make(environment)
        for lock in lacked:
            install_locked(pip, environment, lock)
        install(pip, "ordermart", ["--no-build-isolation", "--no-deps", "-e", str(ROOT)])
        draft = stamp.with_suffix(".part")
        draft.write_text(json.dumps({"python": python, "project": project, "locks": held | wanted}), encoding="utf-8")
        draft.replace(stamp)
    return programs


def what_determines(locks: "tuple[str, ...]") -> "tuple[str, str, dict[str, str]]":
    """Return what an environment depends on: the Python, the project's declaration, and each lock's hash."""
    try:
        digests = {lock: hashlib.sha256((ROOT / lock).read_bytes()).hexdigest() for lock in locks}
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except FileNotFoundError as error:
        raise SetupError(f"{error.filename} is missing: is this a whole clone?") from None
    declared = hashlib.sha256(json.dumps([str(ROOT), project]).encode()).hexdigest()
    return f"{sys.version} {sys.base_prefix}", declared, digests


def read_stamp(environment: Path) -> "dict[str, object]":
    """Return the stamp of a finished environment, {} if it was never finished."""
    try:
        stamp = json.loads((environment / "ordermart.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    # Programs in an environment contain its path: a moved one does not work.
    moved = not (environment / "pyvenv.cfg").exists() or stamp.get("project") is None
    return {} if moved or not isinstance(stamp, dict) else stamp


def make(environment: Path) -> list[str]:
    """Create an empty environment; return the command of its pip."""
    python = getattr(sys, "_base_executable", sys.executable)  # the one that stays when .venv is removed
    if environment.exists():
        shutil.rmtree(environment)
    # The pip outside installs into the environment: a copy of it there takes ten seconds, and Debian's python3
    # without python3-venv cannot make one.
    has_pip = outer_pip() >= OLDEST_PIP
    made = run_quietly([python, "-m", "venv", *(["--without-pip"] if has_pip else []), str(environment)])
    if made.returncode:
        shutil.rmtree(environment, ignore_errors=True)
        if has_pip:
            raise SetupError("python -m venv failed:\n" + (made.stdout + made.stderr).strip())
        raise SetupError(
            "this Python has neither pip 22.3 or later nor ensurepip. Install one of them "
            "(Debian: apt-get install python3-venv, or python3-pip) and run again."
        )
    return pip_of(environment)


def pip_of(environment: Path) -> list[str]:
    """Return the command that installs into `environment`."""
    python = str(environment / "bin" / "python")
    if run_quietly([python, "-m", "pip", "--version"]).returncode == 0:
        return [python, "-m", "pip"]
    version = outer_pip()
    if version < OLDEST_PIP:
        raise SetupError(
            f"pip is missing or older than 22.3. Run `{sys.executable} -m pip install --upgrade pip`, or install "
            "python3-venv, and run again."
        )
    return [sys.executable, "-m", "pip", "--python", python]


def outer_pip() -> tuple[int, ...]:
    """Return the version of this Python's pip; () if there is none."""
    shown = run_quietly([sys.executable, "-m", "pip", "--version"])
    found = re.match(r"pip (\d+)\.(\d+)", shown.stdout) if shown.returncode == 0 else None
    return tuple(int(part) for part in found.groups()) if found else ()


def install_locked(pip: list[str], environment: Path, lock: str) -> None:
    """Install the packages of a lock, whose hashes are compared as they are fetched.

    pip spends its time reading the lists of an index, on one core: each core fetches a part of the lock. Nothing is
    compiled, as most modules are never imported.
    """
    pins = [entry for entry in re.split(r"\n(?=[^\s#])", (ROOT / lock).read_text(encoding="utf-8")) if "==" in entry]
    wheels = environment / "wheels"
    wheels.mkdir()
    fetches = []
    for number in range(min(cores(), 4, len(pins))):
        part = wheels / f"{number}.txt"
        part.write_text("\n".join(pins[number :: min(cores(), 4)]) + "\n", encoding="utf-8")
        fetches.append(["--require-hashes", "--no-deps", "--wheel-dir", str(wheels), "-r", str(part)])
    install(pip, lock, *fetches, command="wheel")
    fetched = sorted(str(wheel) for wheel in wheels.glob("*.whl"))
    install(pip, lock, ["--no-index", "--no-deps", "--no-compile", *fetched])
    shutil.rmtree(wheels)


def compile_all(programs: Path) -> None:
    """Compile what is installed, for users who may not write there."""
    run_quietly([str(programs / "python"), "-m", "compileall", "-q", "-j", "0", str(programs.parent / "lib")])


def install(pip: list[str], what: str, *arguments: list[str], command: str = "install") -> None:
    """Install with pip, by a process for each list of arguments; raise SetupError with its output's end.

    One line of progress on a terminal, nothing elsewhere.
    """
    options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    progress = Progress(what)
    processes = [
        subprocess.Popen(
            [*pip, command, *options, *each],
            env=environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for each in arguments
    ]
    with ThreadPoolExecutor(len(processes)) as threads:
        said = list(threads.map(progress.follow, processes))
    progress.clear()
    for process, lines in zip(processes, said, strict=True):
        if process.returncode:
            raise SetupError("pip could not install {}:\n{}".format(what, "".join(lines).rstrip()))


class Progress:
    """One line on a terminal that counts what is fetched."""

    def __init__(self, what: str) -> None:
        self.what, self.fetched, self.doing = what, 0, "fetching"

    def follow(self, process: "subprocess.Popen[str]") -> "deque[str]":
        """Show what a pip does until it ends; return the last lines that it said."""
        last_lines: deque[str] = deque(maxlen=15)
        with process:
            for line in process.stdout or ():
                if not line.startswith("WARNING: Location"):
                    last_lines.append(line)
                self.fetched += line.startswith(("Collecting ", "Processing "))
                self.doing = "installing" if line.startswith("Installing ") else self.doing
                if sys.stderr.isatty():
                    shown = f"Setting up: {self.what}, {self.doing} {self.fetched or ''}".rstrip()
                    print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)
        return last_lines

    def clear(self) -> None:
        """Remove the line."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run_quietly(command: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command and capture its output."""
    return subprocess.run(
        command,
        env=environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def environ() -> dict[str, str]:
    """Return the environment for pip and venv."""
    return {name: value for name, value in os.environ.items() if name not in MISLEADING} | {"PIP_USER": "0"}


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Let one bootstrap at a time create an environment; the system releases the lock of a killed one."""
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("bootstrap: another process is setting up; waiting for it", file=sys.stderr)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main(sys.argv[1:])
