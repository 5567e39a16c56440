"""Build worlds of other shapes in the least default memory: memory and time must follow the number of orders alone.

    python benchmarks/worlds.py [--orders 100000 1000000] [--shapes foreign many_stores …] [--folder FOLDER] [--profile]

The shapes are in benchmarks/raw_world.py. Each is built by `ordermart build` in a process of its own, with 850 MB for
DuckDB, the least that the default gives. CPU seconds, elapsed seconds and peak memory are printed, and as ratios to the
kind world of as many orders.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.raw_world import LEAST_MEMORY, SHAPES, make_raw  # noqa: E402 - found through the path above

_KIB = 1024


def build(name: str, orders: int, folder: Path, *, profile: bool) -> tuple[int, float, float, float]:
    """Make a world of a shape and build it; return the exit code, CPU seconds, elapsed seconds and peak MiB."""
    make_raw(folder / "data", orders, shape=SHAPES[name])
    (folder / "ordermart.toml").write_text(LEAST_MEMORY, encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "build", "--config", str(folder / "ordermart.toml")]
    with (folder / "build.log").open("wb") as output:
        began = time.perf_counter()
        child = subprocess.Popen(
            [*command, *(["--profile"] if profile else [])],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=folder,
            stdout=output,
            stderr=output,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - began
    if child.returncode or profile:
        print((folder / "build.log").read_text(encoding="utf-8")[-6000:])
    return child.returncode, used.ru_utime + used.ru_stime, taken, used.ru_maxrss / _KIB


def main() -> int:
    """Build the requested shapes and sizes; return 1 if any did not build."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000])
    parser.add_argument("--shapes", nargs="*", choices=[*SHAPES], default=[*SHAPES], metavar="SHAPE")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--profile", action="store_true", help="print the time and memory of each table")
    arguments = parser.parse_args()
    failed = False
    print(f"{'orders':>10}  {'shape':14}{'CPU s':>8}{'ratio':>7}{'elapsed':>9}{'peak MiB':>10}{'ratio':>7}")
    for orders in arguments.orders:
        kind: tuple[float, float] | None = None
        for name in dict.fromkeys(["kind", *arguments.shapes]):
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                code, cpu, taken, peak = build(name, orders, Path(folder), profile=arguments.profile)
            kind = kind or (cpu, peak)
            failed |= code != 0
            print(f"{orders:10,}  {name:14}{cpu:8.1f}{cpu / kind[0]:7.2f}{taken:9.1f}", end="")
            print(f"{peak:10,.0f}{peak / kind[1]:7.2f}" + (f"  ended with {code}" if code else ""), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
