"""Measure a small build, and where its time goes: statements and seconds by the module that asks for them, and imports.

3,000 orders of the sandbox are landed from files and built in full; then 100 changed ones are landed and built. CPU is
that of the process of `ordermart build`; as machines differ, it is also given as a ratio to `python -c "import
dagster"`, measured in turn. One more build of each kind runs under Python's profile hook, which counts statements and
the seconds within DuckDB; it slows Python, not DuckDB.

    python benchmarks/small_build.py [--orders 3000] [--changed 100] [--repeats 3]
"""

from __future__ import annotations

import argparse
import collections
import datetime as dt
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.idle_night import DAYS, STORES, cpu  # noqa: E402 - found through the path above

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

COMMAND = [sys.executable, "-m", "pipelines.cli"]
AIMS = {"full build": "2.9", "increment": "2.2, 450 statements"}
_STATEMENTS = {"execute", "executemany", "sql", "query", "insert_into"}
_FUNCTIONS = {*_STATEMENTS, "fetchall", "fetchone", "fetchmany", "to_arrow_reader", "to_arrow_table", "create"}
_LISTED = 20


def write(file: Path, documents: Iterable[bytes]) -> Path:
    """Write documents as lines of a file, as a partner supplies them."""
    file.write_bytes(b"\n".join(documents))
    return file


def traced(output: Path) -> None:
    """Run `ordermart build` in this process, and write what it asked DuckDB and imported, by module."""
    asked: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0])
    began: list[float] = []

    def caller(frame: FrameType | None) -> str:
        while frame:
            name = frame.f_globals.get("__name__", "")
            if name.startswith("pipelines."):
                return f"{name.removeprefix('pipelines.')} {frame.f_code.co_name}"
            frame = frame.f_back
        return "elsewhere"

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        is_of_duckdb = (
            getattr(argument, "__module__", "") == "_duckdb" and getattr(argument, "__name__", "") in _FUNCTIONS
        )
        if event in ("c_call", "c_return", "c_exception") and is_of_duckdb:
            if event == "c_call":
                began.append(time.process_time())
            elif began:
                found = asked[caller(frame)]
                found[0] += argument.__name__ in _STATEMENTS
                found[1] += time.process_time() - began.pop()

    sys.argv = ["ordermart", "build"]
    from pipelines.cli import main  # noqa: PLC0415 - what it imports is measured

    sys.setprofile(hook)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        modules = collections.Counter(name.partition(".")[0] for name in sys.modules)
        output.write_text(json.dumps({"asked": asked, "modules": modules}), encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, default=3000)
    parser.add_argument("--changed", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--traced", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.traced:
        traced(arguments.traced)
        return
    from pipelines.sandbox.world import Config, World  # noqa: PLC0415 - the child needs neither
    from pipelines.vault import new_key_file  # noqa: PLC0415 - the same

    world = World(Config(orders=arguments.orders, stores=STORES, days=DAYS))
    last_day = world.created(world.order_ids[-1]).replace(hour=0, minute=0, second=0)
    evening, morning = last_day - dt.timedelta(hours=4), last_day + dt.timedelta(hours=32)
    shown = {each: world.order(each, evening) for each in world.order_ids}
    moved = [each for each, text in shown.items() if text and world.order(each, morning) != text][-arguments.changed :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        new_key_file(folder / "keys.json")
        environ = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPATH": str(ROOT),
            "ORDERMART_VAULT__KEY_FILE": str(folder / "keys.json"),
            "ORDERMART_DATA__DIR": str(folder / "data"),
            "ORDERMART_NOTIFY__MIN_FREE_GB": "0",
        }
        orders = [text for text in shown.values() if text]
        cpu([*COMMAND, "land", "orders", str(write(folder / "orders.ndjson", orders))], environ)
        cpu([*COMMAND, "build"], environ)
        later = write(folder / "later.ndjson", [text for each in moved if (text := world.order(each, morning))])
        shutil.copytree(folder / "data", folder / "built", symlinks=True)
        cpu([*COMMAND, "land", "orders", str(later)], environ)
        shutil.copytree(folder / "data", folder / "landed", symlinks=True)
        trace = [sys.executable, __file__, "--traced", str(folder / "trace.json")]
        floors, taken = [], collections.defaultdict(list)
        parts = {}
        for kind, start in (("full build", "built"), ("increment", "landed")):
            for number in range(arguments.repeats + 1):
                shutil.rmtree(folder / "data")
                shutil.copytree(folder / start, folder / "data", symlinks=True)
                if kind == "full build":
                    shutil.rmtree(folder / "data" / "warehouse")
                if number:
                    floors.append(cpu([sys.executable, "-c", "import dagster"], environ))
                    taken[kind].append(cpu([*COMMAND, "build"], environ))
                else:
                    cpu(trace, environ)
                    parts[kind] = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    floor = statistics.median(floors)
    print(
        f"{len(orders):,} orders, {len(moved):,} changed; median of {arguments.repeats}; import dagster {floor:.2f} s"
    )
    for kind, seconds in taken.items():
        asked, used = parts[kind]["asked"], statistics.median(seconds)
        count, within = (sum(each[number] for each in asked.values()) for number in (0, 1))
        print(f"{kind:12}{used:6.2f} s CPU {used / floor:5.2f}   aim: {AIMS[kind]}")
        print(
            f"  {count:,.0f} statements, {within:.2f} s within DuckDB; {sum(parts[kind]['modules'].values()):,} modules"
        )
        for what, (number, spent) in sorted(asked.items(), key=lambda each: -each[1][1])[:_LISTED]:
            print(f"  {what:60}{number:6.0f}{spent:8.3f} s")


if __name__ == "__main__":
    main()
