"""Play many nights and runs for webhooks on a small world by a shifted clock, and measure whether a night's cost grows.

A night: the world's clock and that of the commands go on by a day, then `ordermart run` with the orders placed since;
after it, some runs with `--due`, each with an order that changed. Prints bytes and files without history (raw, vault
and inbox keep it on purpose), and CPU seconds of a night, early and late, and extrapolates to a year. The commands get
their clock from a small C library that is compiled here and preloaded (`cc`, Linux); file times stay real.

    python benchmarks/many_nights.py [--nights 60] [--hints 300] [--orders 600]
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.idle_night import Nights, cpu
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World

STORES = 3
HISTORY = ("raw", "vault", "inbox", "ledger")  # grows with what happens, on purpose
AIM = 1.1
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) { const char *by = getenv("SHIFT_SECONDS"); return by ? atol(by) : 0; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += shift();
    return failed;
}

time_t time(time_t *out) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out) *out = at.tv_sec;
    return at.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone) {
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    out->tv_sec = at.tv_sec;
    out->tv_usec = at.tv_nsec / 1000;
    return 0;
}
"""


class Point(NamedTuple):
    """What a night cost, and what is below the data folder after it, without history."""

    seconds: float
    hint_seconds: float
    files: int
    megabytes: float


def shim(folder: Path) -> str:
    """Compile the library that shifts the clock, and return its path."""
    source, library = folder / "shift.c", folder / "shift.so"
    source.write_text(SHIM, encoding="utf-8")
    subprocess.run(
        [shutil.which("cc") or "cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True
    )
    return str(library)


def left(data: Path) -> tuple[int, float]:
    """Return how many files and megabytes there are besides history; a file with many names counts once."""
    found = {}
    for each in data.rglob("*"):
        if each.is_file() and not each.is_symlink() and each.relative_to(data).parts[0] not in HISTORY:
            stat = each.stat()
            found[stat.st_ino] = stat.st_size
    return len(found), sum(found.values()) / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--hints", type=int, default=300)
    parser.add_argument("--orders", type=int, default=600)
    arguments = parser.parse_args()
    # A week of orders is asked for at once; after it, the same week's orders are what nights and hints look at again.
    shape = {"orders": arguments.orders, "stores": STORES, "days": arguments.nights + 7}
    world = World(Config(**shape))
    points: list[Point] = []
    per_night = -(-arguments.hints // arguments.nights)
    with tempfile.TemporaryDirectory() as folder, Sandbox(**shape) as sandbox:
        nights = Nights(Path(folder), sandbox.base_url)
        nights.environ["LD_PRELOAD"] = shim(Path(folder))
        known: set[int] = set()
        for number in range(arguments.nights):
            night = world.start + dt.timedelta(days=8 + number, hours=3)
            sandbox.set_clock(night)
            nights.environ["SHIFT_SECONDS"] = str(int((night - dt.datetime.now(dt.UTC)).total_seconds()))
            placed = {each for each in world.order_ids if world.created(each) <= night} - known
            known |= placed
            seconds = nights.run(ids=sorted(placed))[0]
            recent = sorted(known)[-per_night:]
            hinted = [nights.run("--due", ids=[each])[0] for each in recent]
            points.append(Point(seconds, statistics.median(hinted or [0.0]), *left(nights.folder / "data")))
            print(f"  night {number + 1}: {points[-1]}", file=sys.stderr)
        floor = cpu([sys.executable, "-c", "import dagster"], nights.environ)
    third = max(1, len(points) // 4)
    early, late = points[third : 2 * third] or points[:1], points[-third:]
    print(f"{arguments.nights} nights and {per_night * arguments.nights} hints, {arguments.orders} orders")
    print(f"import dagster: {floor:.1f} s CPU; nights {third + 1} to {2 * third} against the last {third}")
    for name in Point._fields:
        before, after = (statistics.median(getattr(each, name) for each in part) for part in (early, late))
        ratio = after / before if before else 1.0
        year = after + (after - before) / max(1, len(points) - 2 * third) * 365
        print(f"{name:14}{before:>10.1f}{after:>10.1f}{ratio:>8.2f}   aim {AIM}; after a year at this rate {year:,.0f}")


if __name__ == "__main__":
    main()
