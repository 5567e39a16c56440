"""Run `ordermart` in a process of its own, forked from one that has imported it already.

Imports are four seconds of CPU, half of a run of a few orders. The forked process is like a new one: its
own memory, environment, folder and files, and the command's own `main`. Tests that kill a command, or look at how it
starts, start a new one.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[1]
_MESSAGE = 1 << 20  # of arguments and environment; a socket takes more at once only where the system allows it
# Modules that commands import when they need them, and that start no threads.
_IMPORTED = (
    *("aiohttp", "dagster", "duckdb", "httpx", "pandas", "pandera.pandas", "pyarrow.parquet", "pyarrow.dataset"),
    "pandera.backends.pandas.builtin_checks",  # which imports Hypothesis
    *("pipelines.cli.runs", "pipelines.definitions", "pipelines.run.under_way", "pipelines.report.outcomes"),
)


def ordermart(
    arguments: tuple[str, ...], environ: Mapping[str, str], *, timeout: float, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; return its exit code and what it said. Raise TimeoutExpired, the process killed."""
    code_end, code_start = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(code_end) as codes:
        request = json.dumps([list(arguments), dict(environ), str(folder)]).encode()
        socket.send_fds(_server()[0], [request], [out.fileno(), err.fileno(), code_start])
        os.close(code_start)
        pid = int(codes.readline())
        if not select.select([codes], [], [], timeout)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout, _text(out), _text(err))
        code, seconds = codes.readline().split()
        _SPENT.append(float(seconds))
        return subprocess.CompletedProcess(list(arguments), int(code), _text(out), _text(err))


_SPENT: list[float] = []


def cpu_seconds() -> float:
    """Return the CPU that the commands took: their processes are nobody's children, so no process's times have it."""
    return sum(_SPENT)


def stop() -> None:
    """End the process that forks, if there is one: its own time is then among this process's children's."""
    if _server.cache_info().currsize:
        way, server = _server()
        _server.cache_clear()
        way.close()
        server.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@functools.cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the process that forks, and return the way to it; it ends when this one does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ORDERMART_")}
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(its.fileno())], cwd=ROOT, env=clean, pass_fds=[its.fileno()]
        )
    return ours, server


def no_geopandas() -> None:
    """Let Pandera, which asks for it at each column of each frame, not look for it: that is 5% of a small build."""
    sys.modules.setdefault("geopandas", None)  # type: ignore[arg-type] # so an import fails at once


def prepare_builds() -> None:
    """Have at hand what the first build of a process makes once: a fifth of its time.

    That each select has its contract's columns is not looked at in each command again: tests/warehouse/test_heads.py
    shows it, and so does each build in a test's own process.
    """
    no_geopandas()
    made = importlib.import_module("pipelines.warehouse.rows.fresh_rows")
    session = importlib.import_module("pipelines.warehouse.rows.session")
    schemas = importlib.import_module("pipelines.warehouse.rows.schemas")
    tables = importlib.import_module("pipelines.warehouse.catalogue.tables").tables()
    made.FOUND_RIGHT.update((table.name, table.sql, table.columns) for table in tables)
    session.code_fingerprint()
    session.zones.zone_offsets()
    for table in tables:
        schemas.schema_of(table, schemas.ValidationContext(lambda: None))


def _serve(number: int) -> None:
    """Fork for each request until the other side is closed."""
    for name in _IMPORTED:
        importlib.import_module(name)
    prepare_builds()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # processes that wait for a command leave no zombies
    with socket.socket(fileno=number) as requests:
        while True:
            request, files, _, _ = socket.recv_fds(requests, _MESSAGE, 3)
            if not request:
                return
            if os.fork() == 0:
                requests.close()
                _wait(request, files)
            for file in files:
                os.close(file)


def _wait(request: bytes, files: list[int]) -> None:
    """Fork the command, report its process and then its exit code."""
    for number in (signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    out, err, codes = files
    pid = os.fork()
    if pid == 0:
        os.close(codes)
        _become(request, out, err)
    os.write(codes, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.write(codes, f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime}\n".encode())
    os._exit(0)


def _become(request: bytes, out: int, err: int) -> NoReturn:
    """Be the command: with its arguments, environment, folder and files."""
    arguments, environ, folder = json.loads(request)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, file in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
        os.dup2(file, place)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = ["ordermart", *arguments]
    code: object = 1
    try:
        runpy.run_module("pipelines.cli", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))  # taking down all modules is seconds, too


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
