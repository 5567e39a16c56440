"""Measure what `ordermart copy` sends to object storage: the whole release, nothing new, and 100 changed orders.

    python benchmarks/copy_storage.py [--orders 100000] [--changed 100]

Needs moto's server in `.venv-storage`, which .ci/run makes; its log counts requests. Each copy is a process of its own,
of which CPU time and peak memory are printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from raw_world import make_orders, make_raw  # noqa: E402 - beside this file

from pipelines.settings import load_settings  # noqa: E402 - found through the path above
from pipelines.warehouse.building.build import build  # noqa: E402 - the same
from pipelines.warehouse.release.release import publish  # noqa: E402 - the same

if TYPE_CHECKING:
    from collections.abc import Callable

SERVER = ROOT / ".venv-storage" / "bin" / "moto_server"
PORT = 45_870
CLIENT = {
    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
    "AWS_ALLOW_HTTP": "true",
    "AWS_ACCESS_KEY_ID": "S3RVER",
    "AWS_SECRET_ACCESS_KEY": "S3RVER",
    "AWS_REGION": "us-east-1",
}


def copy(folder: Path, what: str) -> None:
    """Copy the release in a process of its own; print what that took."""
    log = folder / "server.log"
    before = log.stat().st_size
    command = [sys.executable, "-m", "pipelines.cli", "copy", "--to", "s3://mart/here"]
    began = time.monotonic()
    with (folder / "copy.log").open("wb") as output:
        child = subprocess.Popen(
            [*command, "--config", str(folder / "ordermart.toml")],
            env=os.environ | CLIENT | {"PYTHONPATH": str(ROOT)},
            cwd=folder,
            stdout=output,
            stderr=output,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    said = (folder / "copy.log").read_text("utf-8").strip().splitlines()[-1]
    if child.returncode:
        raise SystemExit(said)
    methods = re.findall(r"\b(GET|HEAD|PUT|POST|DELETE) /", log.read_bytes()[before:].decode("utf-8", "replace"))
    counts = ", ".join(f"{methods.count(each)} {each}" for each in sorted(set(methods)))
    cpu = used.ru_utime + used.ru_stime
    print(f"{what}: {said.partition(': ')[2]} {len(methods)} requests ({counts}), {seconds:.1f} s,", end=" ")
    print(f"{cpu:.1f} s of CPU, {used.ru_maxrss / 1024:.0f} MiB", flush=True)


def apart(what: Callable[..., None], *arguments: Any) -> None:
    """Run a function in a process of its own: what it holds would count as memory of the copies."""
    child = multiprocessing.get_context("spawn").Process(target=what, args=arguments)
    child.start()
    child.join()


def prepare(folder: Path, orders: int, changed: int = 0) -> None:
    """Land all orders, or the last ones with other tips; build and publish."""
    settings = load_settings(folder / "ordermart.toml", {"ORDERMART_RELEASE__PUBLISH_EVERY_MINUTES": "0"})
    if changed:
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'")
            make_orders(con, folder / "data", orders - changed, orders, "20260602T000000000001-000004", orders, seed=2)
    else:
        make_raw(folder / "data", orders)
    publish(settings, build(settings))


def wait_for_bucket() -> None:
    """Create the bucket once the server answers."""
    for _ in range(100):
        try:
            asked = urllib.request.Request(f"http://127.0.0.1:{PORT}/mart", method="PUT")
            urllib.request.urlopen(asked).close()  # noqa: S310 - loopback
            return
        except OSError:
            time.sleep(0.3)
    raise SystemExit("the server does not answer")


def main() -> None:
    """Make a release, copy it twice, change orders, and copy that."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--changed", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="copy-") as place:
        folder = Path(place)
        (folder / "ordermart.toml").write_text("", encoding="utf-8")
        apart(prepare, folder, asked.orders)
        with (folder / "server.log").open("wb") as log:
            options = ["-H", "127.0.0.1", "-p", str(PORT)]
            server = subprocess.Popen([str(SERVER), *options], stdout=log, stderr=log)
            try:
                wait_for_bucket()
                copy(folder, f"{asked.orders:,} orders, all")
                copy(folder, "unchanged")
                apart(prepare, folder, asked.orders, asked.changed)
                copy(folder, f"{asked.changed} orders changed")
            finally:
                server.kill()


if __name__ == "__main__":
    main()
