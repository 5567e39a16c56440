"""Play many nights and runs for webhooks on a small world by a shifted clock, and measure whether a night's cost grows.

A night: the world's clock and that of the commands go on by a day, then `ordermart run` with the orders placed since;
after it, some runs with `--due`, hours apart, each with one of the latest orders. Prints bytes and files without
history (raw, vault, inbox and the months of Parquet keep it on purpose), and CPU seconds of a night, early and late,
and extrapolates to a year. CPU is compared as a ratio to `import dagster`, measured every night; bytes and files among
nights after which as many releases are kept, because each has its own and their number goes up and down. With
`--forked` only the first three nights of each hundred, and the last three, are measured by the command; the others run
in processes forked from one that has imported it, in half the time. The commands
get their clock from a small C library that is compiled here and preloaded (`cc`, Linux); file times stay real. With
`--folder` and `--minutes` the same nights are played in several goes.

`--beside` compares the folder with that of the same world after fewer nights: from copies of both, in turn, a night
with two changed orders and no new one, after one that is not counted (changed code rebuilds all tables). It prints the
CPU seconds of these nights, and the elapsed seconds of their steps.

    python benchmarks/many_nights.py [--nights 60] [--hints 300] [--orders 600] [--folder DIR --minutes 5] [--forked]
    python benchmarks/many_nights.py --nights 1000 --hints 0 --orders 2000 --folder DIR --beside EARLIER
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.idle_night import Nights, cpu
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World
from tests import forked

if TYPE_CHECKING:
    from collections.abc import Callable

STORES = 3
HISTORY = ("raw", "vault", "inbox", "ledger")  # grows with what happens, on purpose
AIM = 1.1
MEASURED = 3  # nights of each hundred, where others are forked
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
    floor: float = 1.0  # CPU seconds of `import dagster` then


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

    def __init__(self, folder: Path, orders: int, nights: int, hints: int, *, is_forked: bool = False) -> None:
        self.nights, self.is_forked = nights, is_forked
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
        is_measured = (
            not self.is_forked or len(self.points) % 100 < MEASURED or len(self.points) + MEASURED >= self.nights
        )
        seconds = nights.run(ids=sorted(new))[0] if is_measured else _run_forked(nights, sorted(new))
        hinted = []
        for number, order_id in enumerate(sorted(known)[max(0, len(known) - self.hints_a_night) :], 1):
            _set_clocks(nights, sandbox, night + dt.timedelta(hours=20 * number / self.hints_a_night))
            hinted.append(nights.run("--due", ids=[order_id])[0])
        data = nights.folder / "data"
        kept = sum(1 for each in (data / "published" / "releases").iterdir() if not each.name.startswith("."))
        self.points.append(
            Point(
                seconds, statistics.median(hinted or [0.0]), *left(data), kept, _floor(nights) if is_measured else 0.0
            )
        )
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(self.points[-1]) + "\n")
        print(f"  night {len(self.points)}: {self.points[-1]}", file=sys.stderr)

    def change(self, nights: Nights, number: int) -> None:
        """Land the latest orders with a higher tip, two hours after the last night."""
        night, _ = self.night(len(self.points) - 1)
        orders = [json.loads(self.world.order(each, night) or b"") for each in sorted(self._placed(night))[-number:]]
        file = nights.folder / "changed.ndjson"
        file.write_text("\n".join(json.dumps(each | {"tip": each["tip"] + 1}) for each in orders), encoding="utf-8")
        _set_shift(nights, night + dt.timedelta(hours=2))
        cpu([sys.executable, "-m", "pipelines.cli", "land", "orders", str(file)], nights.environ)

    def night(self, number: int) -> tuple[dt.datetime, set[int]]:
        """Return when a night is, by its number from 0, and the orders placed since the one before."""
        night = self.world.start + dt.timedelta(days=8 + number, hours=3)
        before = self._placed(night - dt.timedelta(days=1)) if number else set()
        return night, self._placed(night) - before

    def _placed(self, moment: dt.datetime) -> set[int]:
        return {each for each in self.world.order_ids if self.world.created(each) <= moment}


def _run_forked(nights: Nights, ids: list[int]) -> float:
    """Run a night in a forked process; return its CPU seconds, which lack those of imports."""
    before = forked.cpu_seconds()
    file = nights.folder / "ids.txt"
    file.write_text("\n".join(map(str, ids)), encoding="utf-8")
    asked = ("--order-ids", str(file)) if ids else ()
    done = forked.ordermart(("run", *asked), nights.environ, timeout=600)
    if done.returncode not in (0, 3):
        raise SystemExit(f"a night ended with {done.returncode}: {done.stderr[-2000:]}")
    return forked.cpu_seconds() - before


def _set_clocks(nights: Nights, sandbox: Sandbox, moment: dt.datetime) -> None:
    sandbox.set_clock(moment)
    _set_shift(nights, moment)


def _set_shift(nights: Nights, moment: dt.datetime) -> None:
    nights.environ["SHIFT_SECONDS"] = str(int((moment - dt.datetime.now(dt.UTC)).total_seconds()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--hints", type=int, default=300)
    parser.add_argument("--orders", type=int, default=600)
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long; 0: after the last night")
    parser.add_argument("--forked", action="store_true", help="measure few nights by the command, for many nights")
    parser.add_argument("--beside", type=Path, help="compare the folder with this one, after fewer nights")
    parser.add_argument("--folder", type=Path, help="keep everything here, and go on from there; default: temporary")
    arguments = parser.parse_args()
    if arguments.beside:
        _play_beside(arguments)
        return
    ends = time.monotonic() + arguments.minutes * 60 if arguments.minutes else float("inf")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        played = Played(folder, arguments.orders, arguments.nights, arguments.hints, is_forked=arguments.forked)
        address = folder / "port"  # a data folder is of one service
        port = int(address.read_text(encoding="utf-8")) if address.exists() else 0
        with Sandbox(**played.shape, port=port) as sandbox:
            nights = Nights(folder, sandbox.base_url)
            address.write_text(str(urlsplit(sandbox.base_url).port), encoding="utf-8")
            nights.environ["LD_PRELOAD"] = os.environ["LD_PRELOAD"] = shim(folder)  # of forked ones, too
            while len(played.points) < arguments.nights and time.monotonic() < ends:
                played.play(nights, sandbox)
    _report(played)


def _play_beside(arguments: argparse.Namespace, repeats: int = 6) -> None:
    """Play a night after many nights and one after few in turn, from copies, and print what they cost."""
    found: list[list[tuple[float, dict[str, float]]]] = [[], []]
    with tempfile.TemporaryDirectory() as temporary:
        kept = [Path(temporary) / name for name in ("early", "late")]
        for source, folder in zip((arguments.beside, arguments.folder), kept, strict=True):
            shutil.copytree(source, folder, symlinks=True)
            _play_quiet_night(folder, arguments, 0)
        for _ in range(repeats):
            for side, folder in zip(found, kept, strict=True):
                copy = Path(shutil.copytree(folder, Path(temporary) / "copy", symlinks=True))
                side.append(_play_quiet_night(copy, arguments, 2))
                shutil.rmtree(copy)
    for name, of in (
        ("CPU of a night", lambda night: night[0]),
        *((step, lambda night, step=step: night[1][step]) for step in found[0][0][1]),
    ):
        early, late = (statistics.median(map(of, side)) for side in found)
        print(f"{name:14}{early:>10.2f}{late:>10.2f}{late / early if early else 1.0:>8.2f}")


def _play_quiet_night(folder: Path, arguments: argparse.Namespace, changed: int) -> tuple[float, dict[str, float]]:
    """Play the next night without new orders, after so many were changed; return its CPU and the time of its steps."""
    played = Played(folder, arguments.orders, arguments.nights, 0)
    port = int((folder / "port").read_text(encoding="utf-8"))
    with Sandbox(**played.shape, port=port) as sandbox:
        nights = Nights(folder, sandbox.base_url)
        nights.environ["LD_PRELOAD"] = shim(folder)
        while played.night(len(played.points))[1]:
            played.play(nights, sandbox)
        if changed:
            played.change(nights, changed)
        played.play(nights, sandbox)
    record = json.loads(max((folder / "data" / "runs").glob("*-night.json")).read_text(encoding="utf-8"))
    at = dt.datetime.fromisoformat
    steps = {each["name"]: (at(each["ended_at"]) - at(each["started_at"])).total_seconds() for each in record["steps"]}
    return played.points[-1].seconds, steps


def _floor(nights: Nights) -> float:
    return cpu([sys.executable, "-c", "import dagster"], nights.environ)


def _report(played: Played) -> None:
    points, numbers = played.points, range(len(played.points))
    quarter = max(1, len(points) // 4)
    early, late = list(numbers[quarter : 2 * quarter] or numbers[:1]), list(numbers[-quarter:])
    new = {number for number in numbers if points[number].floor and played.night(number)[1]}
    kept = _releases_of_both([points[n].releases for n in early], [points[n].releases for n in late])
    print(f"{len(points)} nights and {played.hints_a_night * len(points)} hints, {played.shape['orders']} orders")
    print(f"nights {quarter + 1} to {2 * quarter} against the last {quarter}; import dagster is CPU 1.0")
    print(f"seconds are those of nights with new orders, {len(new)} of them; files after {kept} releases")
    measures: dict[str, tuple[Callable[[int], bool], Callable[[Point], float]]] = {
        # A night without a new order publishes nothing, which is another kind of night.
        "CPU of a night": (lambda n: n in new, lambda point: point.seconds / point.floor),
        "of a hint run": (lambda n: points[n].floor > 0, lambda point: point.hint_seconds / point.floor),
        "files": (lambda n: points[n].releases == kept, lambda point: point.files),
        "megabytes": (lambda n: points[n].releases == kept, lambda point: point.megabytes),
    }
    if played.is_forked:
        for first in sorted({0, 100, len(points) // 2 // 100 * 100, len(points) - MEASURED}):
            of_these = [points[n].seconds / points[n].floor for n in numbers[first : first + MEASURED] if n in new]
            print(f"nights {first + 1} to {first + MEASURED}: {', '.join(f'{each:.2f}' for each in of_these)}")
    for name, (counts, of) in measures.items():
        parts = ([n for n in part if counts(n)] or part for part in (early, late))
        before, after = (statistics.median(of(points[n]) for n in part) for part in parts)
        ratio = after / before if before else 1.0
        year = after + (after - before) / max(1, len(points) - 2 * quarter) * 365
        print(f"{name:14}{before:>10.1f}{after:>10.1f}{ratio:>8.2f}   aim {AIM}; after a year at this rate {year:,.0f}")


def _releases_of_both(early: list[int], late: list[int]) -> int:
    """Return the number of kept releases that is most frequent both early and late."""
    return max({*early, *late}, key=lambda kept: (min(early.count(kept), late.count(kept)), kept))


if __name__ == "__main__":
    main()
