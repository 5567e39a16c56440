"""Sweep a night by kills, a full disk and I/O errors at every operation on files, or by losses of power.

python -m tests.sweep --all
python -m tests.sweep --each 2 --minutes 30
python -m tests.sweep --stage build --at 17 --mode kill
python -m tests.sweep --power --each 1
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.sweep.bench import MODES, STAGES, NoCompiler, bench
from tests.sweep.points import Point, all_points, sample, sweep
from tests.sweep.power import ORDERS as NIGHT
from tests.sweep.power import lose_power

ORDERS = 24


def main() -> int:
    """Run what was asked for; return 1 where anything was lost, 2 where it cannot run here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every point in every mode; takes hours")
    parser.add_argument("--each", type=int, default=1, help="points of each kind of operation, file and mode")
    parser.add_argument("--most", type=int, default=0, help="points at most, drawn from those; 0: all of them")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so many minutes; 0: never")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--at", type=int, help="one point alone, with --stage and --mode")
    parser.add_argument("--orders", type=int, default=0, help=f"of the night; default {ORDERS}, with --power {NIGHT}")
    parser.add_argument("--power", action="store_true", help="lose power, instead of the process or the disk")
    asked = parser.parse_args()
    ends = time.monotonic() + asked.minutes * 60 if asked.minutes else float("inf")
    folder = Path(tempfile.mkdtemp(prefix="sweep-"))
    try:
        with bench(folder, asked.orders or (NIGHT if asked.power else ORDERS)) as made:
            if asked.power:
                found = lose_power(
                    made, every=asked.all, each=asked.each, most=asked.most, seed=asked.seed, ends=ends, say=_say
                )
                _say("\n".join(found.lines()))
                return int(bool(found.lost))
            made.expect()
            points = [
                point
                for point in all_points(made.seen)
                if asked.stage in (None, point.stage)
                and asked.mode in (None, point.mode)
                and asked.at in (None, point.at)
            ]
            chosen: list[Point] = points if asked.all else sample(points, asked.each, asked.seed)
            chosen = chosen[: asked.most or None]
            _say(f"{len(chosen)} of {len(points)} points")
            tally = sweep(made, chosen, ends=ends, say=_say)
            _say("\n".join(tally.lines()))
            return int(bool(tally.lost))
    except NoCompiler as error:
        _say(f"cannot sweep here: {error}")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
