"""Map a function over the parts of a full build, on a Ray cluster that is there already; start none.

Ray runs code for all who reach its ports, so a cluster without token authentication is refused. Ray is an extra, and
imported only where a cluster is used.
"""

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

from pipelines.settings import Settings, SettingsError

T = TypeVar("T")
R = TypeVar("R")


class EngineError(Exception):
    """An engine cannot be used, or lost a part for good; the message says what to do."""


RETRIES = 3  # of a task whose worker or node was lost; an error that it raises is not tried again
PROCESS_BYTES = 400_000_000  # of a task besides what DuckDB counts
_LOOK_SECONDS = 15.0  # between looks whether the nodes that a task needs are still there
_ANSWER_SECONDS, _PROBE_SECONDS = 10, 60
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def engine_of(settings: Settings) -> "RayCluster | None":
    """Return the engine that the settings name, None for this process; raise SettingsError where it cannot be used."""
    if settings.engine.name == "local":
        return None
    if importlib.util.find_spec("ray") is None:
        why = '[engine] name: "ray" needs the extra ray, on every node: pip install "ordermart[ray]"'
        raise SettingsError(f"{why}, or pip install --require-hashes --no-deps -r requirements-ray.lock")
    if not re.fullmatch(r"([^\s:]+|\[[0-9a-fA-F:]+\]):\d+", settings.engine.address):
        advice = "name the head of a Ray cluster, such as 10.0.0.5:6379, or give --address"
        raise SettingsError(f"[engine] address: {advice}")
    needs_token = not settings.security.allow_open_ray
    if needs_token and os.environ.get("RAY_AUTH_MODE") != "token":
        raise SettingsError(
            '[engine] name: "ray" without a token runs code for whoever reaches its ports: set RAY_AUTH_MODE=token and '
            "the cluster's token for head, nodes and this process, or set [security] allow_open_ray = true"
        )
    return RayCluster(settings.engine.address, settings.engine.task_memory, needs_token=needs_token)


class RayCluster:
    """A connection to a cluster, as a context; `memory_bytes` is DuckDB's limit in each task."""

    def __init__(self, address: str, memory: str, *, needs_token: bool) -> None:
        self.memory_bytes = bytes_of(memory)
        self._address, self._needs_token = address, needs_token
        self._task_bytes = self.memory_bytes + PROCESS_BYTES
        self._ray: Any = None

    def __enter__(self) -> Self:
        """Connect; raise EngineError where the cluster is away, open, or too small for one task."""
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if self._needs_token:
            require_token(self._address)
        import ray  # noqa: PLC0415 - an extra

        before = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(self._address, log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            reason = str(error).splitlines()[0]
            raise EngineError(f"the Ray cluster at {self._address} cannot be used ({reason})") from None
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray sets its own
        self._ray = ray
        try:
            self._require_nodes()
        except EngineError:
            ray.shutdown()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect; Ray ends what this process still has running."""
        self._ray.shutdown()

    def width(self) -> int:
        """Return how many tasks run at once, by processors and memory of the nodes that are there."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return sum(int(min(has.get("CPU", 0), has.get("memory", 0) // self._task_bytes)) for has in alive)

    def map(self, function: Callable[[T], R], values: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the place of each value and the function's result, in the order in which they end.

        The function may run twice for a value, also at the same time. Raise what it raises, EngineError where it could
        not be run.
        """
        task = self._ray.remote(num_cpus=1, memory=self._task_bytes, max_retries=RETRIES, scheduling_strategy="SPREAD")(
            function
        )
        pending = {task.remote(value): place for place, value in enumerate(values)}
        try:
            while pending:
                done, _ = self._ray.wait(list(pending), num_returns=1, timeout=_LOOK_SECONDS)
                if not done:
                    self._require_nodes()
                for each in done:
                    yield pending.pop(each), self._result(each)
        finally:
            for each in pending:
                self._ray.cancel(each, force=True)

    def _result(self, reference: Any) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.cause from None
        except exceptions.RayError as error:
            reason = str(error).splitlines()[0]
            raise EngineError(
                f"a part of the build was lost on the Ray cluster, {RETRIES} retries included ({type(error).__name__}: "
                f"{reason}). See the logs of its nodes; if they ran out of memory, lower [engine] task_memory"
            ) from None

    def _require_nodes(self) -> None:
        if not self.width():
            raise EngineError(
                f"no node of the Ray cluster at {self._address} has a processor and {self._task_bytes // 10**6} MB "
                "for a task: start such a node, or lower [engine] task_memory"
            )


def require_token(address: str) -> None:
    """Raise EngineError unless a head is there that refuses requests without a token, as Ray's own command does."""
    absent = f"no Ray cluster answers at {address}: is its head there?"
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()  # Ray waits for half a minute
    except OSError as error:
        raise EngineError(f"{absent} ({error.strerror or error})") from None
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH_")}
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        asked = subprocess.run(  # noqa: S603 - Ray's own command; the address is a setting
            command,
            env=environ | {"RAY_AUTH_MODE": "disabled"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(absent) from None
    if asked.returncode == 0:
        raise EngineError(
            f"the Ray cluster at {address} answers without a token: start its head and its nodes with "
            "RAY_AUTH_MODE=token, or set [security] allow_open_ray = true"
        )
    if "AuthenticationError" not in asked.stderr:
        raise EngineError(absent)


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as 850MB; raise SettingsError for another text."""
    if not (found := re.fullmatch(r"(\d+) ?([kmgt]i?)b", size.lower())):
        raise SettingsError(f"[engine] task_memory: {size!r} is not a size such as 850MB")
    return int(found[1]) * _UNITS[found[2]]
