"""Measure what an increment of one changed order costs in a tiny warehouse, where DuckDB's planning is most of it.

Seven orders, three stores and two menus are landed and built; then the status of one order changes, several times, and
each change is built. CPU seconds; as machines differ, also as a ratio to a full build of the same world.

    python benchmarks/small_increment.py [--repeats 3]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.warehouse.conftest import World, menu, order, store

AIM = 1.5  # CPU seconds of an increment, on a machine whose full build takes 2.0


def cpu(world: World, *, full: bool = False) -> float:
    """Build, and return the CPU seconds."""
    started = time.process_time()
    result = world.build(full=full)
    used = time.process_time() - started
    if result.full != full:
        raise SystemExit(f"another kind of build was made: {result.why}")
    return used


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.land("stores", [{"id": number, "document": store(number)} for number in (1, 2, 3)])
        world.land("menus", [{"id": number, "document": menu(number)} for number in (1, 2)])
        world.land("orders", [{"id": number, "document": order(number)} for number in range(1, 8)])
        world.build()  # and import what a build needs
        whole, small = [], []
        for number in range(arguments.repeats):
            whole.append(cpu(world, full=True))
            world.land("orders", [{"id": 3, "document": order(3, status=f"status {number}"), "at": 50 + number}])
            small.append(cpu(world))
    full, increment = statistics.median(whole), statistics.median(small)
    print(f"full build   {full:.2f} s CPU   1.00")
    print(f"one order    {increment:.2f} s CPU   {increment / full:.2f}   aim: {AIM} s")


if __name__ == "__main__":
    main()
