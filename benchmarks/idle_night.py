"""Measure what a run costs in which little or nothing is new, in CPU seconds and in Dagster's records.

Fills a data folder from a sandbox, then runs `ordermart run --due` (as for webhooks) with nothing due and with 100
changed orders, and `ordermart run` (a night, whose requests bring nothing new), without verification; and runs for
webhooks that Dagster executes, of which the growth of DAGSTER_HOME counts. CPU is that of the
whole process with its children; as machines differ, each figure is also given as a ratio to `python -c "import
dagster"`, measured in turn with the runs.

    python benchmarks/idle_night.py [--orders 5000] [--repeats 3]
"""

from __future__ import annotations

import argparse
import compileall
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.assets.dev import dagster_home
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
CHANGED = 100
# CPU seconds where `import dagster` takes 0.6 of them, and KB
AIMS = {
    "nothing due": "1.5 s",
    f"{CHANGED} orders changed": "6 s",
    "nothing due, by Dagster": "300 KB",
    f"{CHANGED} new orders, by Dagster": "300 KB",
}
STORES, DAYS = 30, 5  # few days, so that an evening has 100 orders under way
EVENING, MORNING = dt.timedelta(hours=20), dt.timedelta(hours=32)


def cpu(command: list[str], environ: dict[str, str]) -> float:
    """Run a command and return the CPU seconds of its process and children."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, env=environ, cwd=ROOT, stdout=output, stderr=output)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 3):
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {output.read().decode()[-2000:]}")
    return used.ru_utime + used.ru_stime


def size_kb(folder: Path) -> float:
    """Return the bytes of all files below a folder, in thousands."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1000


class Nights:
    """A data folder, and the command run on it."""

    def __init__(self, folder: Path, base_url: str) -> None:
        self.folder, self.home = folder, folder / "data" / "dagster"
        dagster_home(folder / "data")
        compileall.compile_dir(ROOT / "pipelines", quiet=1)  # as an installation does
        if not (folder / "keys.json").exists():
            new_key_file(folder / "keys.json")
        self.environ = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",  # as on a machine that keeps bytecode
            "PYTHONPATH": str(ROOT),
            "ORDERMART_PARTNER__BASE_URL": base_url,
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            "ORDERMART_VAULT__KEY_FILE": str(folder / "keys.json"),
            "ORDERMART_DATA__DIR": str(folder / "data"),
            "ORDERMART_VERIFY__SECONDS": "0",
            "ORDERMART_PLANNER__REQUEST_BUDGET": "0",  # what changed besides is not asked for
            "ORDERMART_RELEASE__PUBLISH_EVERY_MINUTES": "0",
            "ORDERMART_NOTIFY__MIN_FREE_GB": "0",
        }

    def run(self, *arguments: str, ids: Iterable[int] = ()) -> tuple[float, float]:
        """Run `ordermart run` with these arguments; return its CPU seconds, and by how many KB DAGSTER_HOME grew."""
        before = size_kb(self.home)
        if listed := list(ids):
            file = self.folder / "ids.txt"
            file.write_text("\n".join(map(str, listed)), encoding="utf-8")
            arguments = (*arguments, "--order-ids", str(file))
        used = cpu([sys.executable, "-m", "pipelines.cli", "run", *arguments], self.environ)
        return used, size_kb(self.home) - before

    def by_dagster(self, ids: Iterable[int] = ()) -> tuple[float, float]:
        """Run for webhooks as a run of Dagster's own command; return the same as `run`."""
        before = size_kb(self.home)
        file = self.folder / "ids.txt"
        file.write_text("\n".join(map(str, ids)), encoding="utf-8")
        config = {"resources": {"run": {"config": {"order_ids": str(file) if file.stat().st_size else ""}}}}
        (self.folder / "run.yaml").write_text(json.dumps(config), encoding="utf-8")
        words = ["job", "execute", "-m", "pipelines.definitions", "-j", "webhooks", "-c", str(self.folder / "run.yaml")]
        used = cpu([sys.executable, "-m", "dagster", *words], self.environ)
        return used, size_kb(self.home) - before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    world = World(Config(orders=arguments.orders, stores=STORES, days=DAYS))
    last_day = world.created(world.order_ids[-1]).replace(hour=0, minute=0, second=0)
    days = [last_day - dt.timedelta(days=number) for number in reversed(range(1, arguments.repeats + 1))]
    measured: dict[str, list[tuple[float, float]]] = {}
    floors = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox(orders=arguments.orders, stores=STORES, days=DAYS) as sandbox,
    ):
        nights = Nights(Path(folder), sandbox.base_url)
        known: set[int] = set()

        def new_until(moment: dt.datetime) -> list[int]:
            """Set the clock, and return the orders that were placed since it was last set."""
            sandbox.set_clock(moment)
            placed = {each for each in world.order_ids if world.created(each) <= moment} - known
            known.update(placed)
            return sorted(placed)

        for number, day in enumerate(days):
            new = new_until(day + EVENING)
            filled = nights.run(*(("--due",) if number else ()), ids=new[: -2 * CHANGED])
            measured.setdefault("all that is placed", []).append(filled)
            # twice each: a run trims what Dagster keeps of the run before it
            nights.by_dagster()
            measured.setdefault("nothing due, by Dagster", []).append(nights.by_dagster())
            nights.by_dagster(new[-2 * CHANGED : -CHANGED])
            measured.setdefault(f"{CHANGED} new orders, by Dagster", []).append(nights.by_dagster(new[-CHANGED:]))
            nights.run("--due")
            floors.append(cpu([sys.executable, "-c", "import dagster"], nights.environ))
            measured.setdefault("nothing due", []).append(nights.run("--due"))
            moments = day + EVENING, day + MORNING
            moved = [each for each in sorted(known) if world.order(each, moments[0]) != world.order(each, moments[1])]
            sandbox.set_clock(moments[1])
            measured.setdefault(f"{CHANGED} orders changed", []).append(nights.run("--due", ids=moved[-CHANGED:]))
            measured.setdefault("a night, nothing due", []).append(nights.run())
            print(f"  {day:%d %b}: {len(known):,} orders, {len(moved)} changed overnight", file=sys.stderr)
    floor = statistics.median(floors)
    print(f"{arguments.orders:,} orders, {len(os.sched_getaffinity(0))} cores; median of {arguments.repeats}")
    print(f"{'import dagster':32}{floor:>8.1f} s CPU   1.0")
    for name, runs in measured.items():
        used, grown = (statistics.median(each) for each in zip(*runs, strict=True))
        aim = f"   aim: {AIMS[name]}" if name in AIMS else ""
        print(f"{name:32}{used:>8.1f} s CPU{used / floor:>6.1f}{grown:>8,.0f} KB of Dagster's{aim}")


if __name__ == "__main__":
    main()
