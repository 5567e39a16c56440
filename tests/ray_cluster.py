"""A Ray cluster on this machine alone: a head and one more node, in namespaces of their own, with a token.

Ray listens on addresses that others can reach; here there is but a loopback. When the first process of the namespaces
ends, all others in them do. Faults are made where they are wanted, not when: a file says in which step a process is to
be killed, and a hook in each process of the cluster obeys it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

PROJECT = Path(__file__).parents[1]
ADDRESS = "127.0.0.1:6399"
RAY = (sys.executable, "-m", "ray.scripts.scripts")
SMALL = ("--num-cpus=1", "--memory=1000000000", "--object-store-memory=80000000", "--disable-usage-stats")

# Run by each Python of the cluster when it starts. A fault is a file of its name that holds a part of a file's name.
FAULTS = """
import os, signal, sys, time
from pathlib import Path

ROLE, FOLDER = os.environ.get("FAULT_ROLE"), Path(os.environ.get("FAULT_FOLDER", "/nonexistent"))
wanted = {"os.rename": ("worker", "node"), "os.remove": ("driver",)}

def strike(event, args):
    for fault in wanted.get(event, ()):
        file = FOLDER / fault
        at = str(args[1] if event == "os.rename" else args[0])
        if "/parts/" not in at or not file.exists() or file.read_text() not in at:
            continue
        if fault == "node" and ROLE == "head":  # its only worker waits, so that the other node gets a part
            deadline = time.monotonic() + 600
            while file.exists() and time.monotonic() < deadline:
                time.sleep(0.2)
        elif (fault == "driver") == (ROLE == "driver"):
            file.rename(FOLDER / (fault + ".struck"))
            if fault == "node":
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

if ROLE:
    sys.addaudithook(strike)
"""


class NoNamespacesError(Exception):
    """No namespaces are to be had on this machine."""


class Cluster:
    """A head and a node; `arm` a fault, then `run` a command as the driver's process."""

    def __init__(self, *, token: bool = True, nodes: int = 1) -> None:
        self._nodes = nodes
        self.folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: sockets lie in it
        (self.folder / "sitecustomize.py").write_text(FAULTS, encoding="utf-8")
        own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(24)} if token else {}
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "ORDERMART"))}
        self.environ |= {
            "RAY_AUTH_MODE": "disabled",
            **own,
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": f"{self.folder}:{PROJECT}",
            "FAULT_FOLDER": str(self.folder),
        }

    def __enter__(self) -> Self:
        """Start the cluster; raise NoNamespacesError where there are none."""
        first = "ip link set lo up && echo ready && exec sleep infinity"
        self._unshare = subprocess.Popen(
            ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", first],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._unshare.stdout
        assert self._unshare.stderr
        if self._unshare.stdout.readline() != "ready\n":
            self._unshare.wait()
            said = self._unshare.stderr.read().strip()
            self.__exit__()
            raise NoNamespacesError(said)
        pid = self._unshare.pid
        self._first = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0]
        try:
            head = ("--head", "--node-ip-address=127.0.0.1", f"--port={ADDRESS.split(':')[1]}")
            self._start("head", *head, f"--temp-dir={self.folder}/s", "--include-dashboard=false")
            for _ in range(self._nodes):
                self._start("node", f"--address={ADDRESS}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the first process of the namespaces, and so all of them."""
        self._unshare.kill()
        self._unshare.wait()
        for stream in (self._unshare.stdout, self._unshare.stderr):
            if stream:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def arm(self, fault: str, where: str) -> None:
        """Have a worker, a node or the driver killed when it renames, or the driver when it removes, such a file."""
        (self.folder / fault).write_text(where, encoding="utf-8")

    def struck(self) -> list[str]:
        """Return the faults that were made."""
        return sorted(each.stem for each in self.folder.glob("*.struck"))

    def run(self, *command: str, role: str = "driver", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the namespaces, and return what it said; its standard error comes first."""
        inside = ["nsenter", "--target", self._first, "--net", "--pid", "--mount", *command]
        return subprocess.run(
            inside,
            env=self.environ | {"FAULT_ROLE": role} | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=800,  # Ray itself sometimes waits a minute or two for a worker
        )

    def ordermart(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run `ordermart` as the driver."""
        return self.run(sys.executable, "-m", "pipelines.cli", *arguments, **environ)

    def _start(self, role: str, *arguments: str) -> None:
        done = self.run(*RAY, "start", *arguments, *SMALL, role=role)
        assert done.returncode == 0, done.stdout
