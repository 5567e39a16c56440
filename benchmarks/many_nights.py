"""Play many nights and runs for webhooks on a small world by a shifted clock, and measure whether a night's cost grows.

A night: the world's clock and that of the commands go on by a day, then `ordermart run` with the orders placed since;
after it, some runs with `--due`, hours apart, each with one of the latest orders. Prints bytes and files without
history (raw, vault, inbox and the months of Parquet keep it on purpose), and CPU seconds of a night, early and late,
and extrapolates to a year. The commands get their clock from a small C library that is compiled here and preloaded
(`cc`, Linux); file times stay real. With `--folder` and `--minutes` the same nights are played in several goes.

    python benchmarks/many_nights.py [--nights 60] [--hints 300] [--orders 600] [--folder DIR --minutes 5]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

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
    releases: int  # that are kept: each has files of its own


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
        is_history = each.relative_to(data).parts[0] in HISTORY or "_month=" in each.parent.name
        if each.is_file() and not each.is_symlink() and not is_history:
            stat = each.stat()
            found[stat.st_ino] = stat.st_size
    return len(found), sum(found.values()) / 1e6


class Played:
    """A world and its data folder, played night by night; what each cost is kept in the folder, so that it goes on."""

    def __init__(self, folder: Path, orders: int, nights: int, hints: int) -> None:
        # A week of orders is asked for at once; after it, the same week's orders are what nights and hints look at.
        self.shape = {"orders": orders, "stores": STORES, "days": nights + 7}
        self.world = World(Config(**self.shape))
        self.hints_a_night = -(-hints // nights)
        self.log = folder / "points.jsonl"
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.points = [Point(*json.loads(line)) for line in lines]

    def play(self, nights: Nights, sandbox: Sandbox) -> None:
        """Play the next night and its runs for webhooks."""
        night, new = self.night(len(self.points))
        known = self._placed(night)
        _set_clocks(nights, sandbox, night)
        seconds = nights.run(ids=sorted(new))[0]
        hinted = []
        for number, order_id in enumerate(sorted(known)[-self.hints_a_night :], 1):
            _set_clocks(nights, sandbox, night + dt.timedelta(hours=20 * number / self.hints_a_night))
            hinted.append(nights.run("--due", ids=[order_id])[0])
        data = nights.folder / "data"
        kept = sum(1 for each in (data / "published" / "releases").iterdir() if not each.name.startswith("."))
        self.points.append(Point(seconds, statistics.median(hinted or [0.0]), *left(data), kept))
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(self.points[-1]) + "\n")
        print(f"  night {len(self.points)}: {self.points[-1]}", file=sys.stderr)

    def night(self, number: int) -> tuple[dt.datetime, set[int]]:
        """Return when a night is, by its number from 0, and the orders placed since the one before."""
        night = self.world.start + dt.timedelta(days=8 + number, hours=3)
        before = self._placed(night - dt.timedelta(days=1)) if number else set()
        return night, self._placed(night) - before

    def _placed(self, moment: dt.datetime) -> set[int]:
        return {each for each in self.world.order_ids if self.world.created(each) <= moment}


def _set_clocks(nights: Nights, sandbox: Sandbox, moment: dt.datetime) -> None:
    sandbox.set_clock(moment)
    nights.environ["SHIFT_SECONDS"] = str(int((moment - dt.datetime.now(dt.UTC)).total_seconds()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--hints", type=int, default=300)
    parser.add_argument("--orders", type=int, default=600)
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long; 0: after the last night")
    parser.add_argument("--folder", type=Path, help="keep everything here, and go on from there; default: temporary")
    arguments = parser.parse_args()
    ends = time.monotonic() + arguments.minutes * 60 if arguments.minutes else float("inf")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        played = Played(folder, arguments.orders, arguments.nights, arguments.hints)
        address = folder / "port"  # a data folder is of one service
        port = int(address.read_text(encoding="utf-8")) if address.exists() else 0
        with Sandbox(**played.shape, port=port) as sandbox:
            nights = Nights(folder, sandbox.base_url)
            address.write_text(str(urlsplit(sandbox.base_url).port), encoding="utf-8")
            nights.environ["LD_PRELOAD"] = shim(folder)
            while len(played.points) < arguments.nights and time.monotonic() < ends:
                played.play(nights, sandbox)
            floor = cpu([sys.executable, "-c", "import dagster"], nights.environ)
    points = played.points
    third = max(1, len(points) // 4)
    numbers = range(len(points))
    early, late = numbers[third : 2 * third] or numbers[:1], numbers[-third:]
    new = {number for number in numbers if played.night(number)[1]}
    print(f"{len(points)} nights and {played.hints_a_night * len(points)} hints, {arguments.orders} orders")
    print(f"import dagster: {floor:.1f} s CPU; nights {third + 1} to {2 * third} against the last {third}")
    print(f"seconds are those of nights with new orders, {len(new)} of them")
    for name in Point._fields:
        # A night without a new order publishes nothing, which is another kind of night.
        parts = ([n for n in part if name != "seconds" or n in new] or part for part in (early, late))
        before, after = (statistics.median(getattr(points[n], name) for n in part) for part in parts)
        ratio = after / before if before else 1.0
        year = after + (after - before) / max(1, len(points) - 2 * third) * 365
        print(f"{name:14}{before:>10.1f}{after:>10.1f}{ratio:>8.2f}   aim {AIM}; after a year at this rate {year:,.0f}")


if __name__ == "__main__":
    main()
