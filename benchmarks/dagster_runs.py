"""Measure how Dagster's records and the cost of a run grow over many runs for webhooks that Dagster executes.

Each run fetches one new order, builds and publishes, as Dagster's worker executes it; then the sensor `recorded_runs`
looks once, as its daemon has it do, which deletes old runs. All in one process, so that `import dagster` does not hide
what a run costs. Prints, by the number of runs, CPU seconds of a run with its look (median of the runs since the line
above), the size of DAGSTER_HOME, its files, and how many runs it keeps; and the last line's ratio to the second.

    python benchmarks/dagster_runs.py [--runs 1000]
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dagster as dg

from benchmarks.idle_night import Nights, size_kb
from pipelines.definitions import wiring
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World
from pipelines.settings import load_settings

STORES, DAYS, BEFORE = 3, 30, 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    shape = {"orders": runs + BEFORE, "stores": STORES, "days": DAYS}
    world = World(Config(**shape))
    ordered = sorted(world.order_ids, key=world.created)
    lines = sorted({1, 10, runs // 10, runs // 4, runs // 2, runs} - {0})
    print(f"{runs:,} runs for webhooks by Dagster, one new order each, after {BEFORE} orders")
    print(f"{'runs':>6}{'CPU s':>8}{'MB':>8}{'files':>8}{'kept':>6}", flush=True)
    with tempfile.TemporaryDirectory() as folder, Sandbox(**shape) as sandbox:
        nights = Nights(Path(folder), sandbox.base_url)
        sandbox.set_clock(world.created(ordered[BEFORE - 1]) + dt.timedelta(minutes=1))
        nights.run(ids=ordered[:BEFORE])
        os.environ.update(nights.environ)
        medians, since, cursor = [], [], ""
        with dg.DagsterInstance.get() as instance:
            for number, order_id in enumerate(ordered[BEFORE : BEFORE + runs], 1):
                sandbox.set_clock(world.created(order_id) + dt.timedelta(minutes=1))
                seconds, cursor = run_once(instance, Path(folder), order_id, cursor)
                since.append(seconds)
                if number in lines:
                    medians.append(statistics.median(since))
                    kept, files = instance.get_runs_count(), sum(1 for each in nights.home.rglob("*") if each.is_file())
                    megabytes = size_kb(nights.home) / 1000
                    print(f"{number:>6}{medians[-1]:>8.2f}{megabytes:>8.1f}{files:>8,}{kept:>6}", flush=True)
                    since.clear()
    print(f"a run at the end against the first ones: {medians[-1] / medians[min(1, len(medians) - 1)]:.2f} times")


def run_once(instance: dg.DagsterInstance, folder: Path, order_id: int, cursor: str) -> tuple[float, str]:
    """Execute the job `webhooks` for one order, then the sensor; return the CPU seconds of both, and its new cursor."""
    file = folder / "ids.txt"
    file.write_text(str(order_id), encoding="utf-8")
    began = time.process_time()
    wired = wiring(load_settings())
    config = {"resources": {"run": {"config": {"order_ids": str(file)}}}}
    done = wired.resolve_job_def("webhooks").execute_in_process(instance=instance, run_config=config)
    if not done.success:
        raise SystemExit(f"run {done.run_id} failed")
    look = wired.get_repository_def().get_sensor_def("recorded_runs")
    repository = wired.get_repository_def()
    with dg.build_sensor_context(instance=instance, cursor=cursor, repository_def=repository) as context:
        tick = look.evaluate_tick(context)
        for event in tick.asset_events:
            instance.report_runless_asset_event(event)
    return time.process_time() - began, tick.cursor or ""


if __name__ == "__main__":
    main()
