"""Kill nights of the command and of Dagster at chosen points: `python -m tests.run [--points 40] [--seed 7]`.

Prints each point, and ends with 1 where one was not told once, with its step.
"""

from __future__ import annotations

import argparse
import sys

from tests.run.kills import examined, place, points


def main() -> int:
    """Examine all points."""
    parser = argparse.ArgumentParser(description="Kill nights at chosen points.")
    parser.add_argument("--points", type=int, default=40, help="of the command, and as many of Dagster")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    wrong = 0
    with place() as made:
        made.whole_run()
        for by, step, share in points(asked.points, asked.seed):
            where, found = examined(made, by, step, share)
            wrong += bool(found)
            print(f"{by:8} {step:12} {share:4.0%}: {where or 'it had ended'}", *found, sep="\n    ", flush=True)
    print(f"{wrong} of {asked.points * 2} points were not told as they should")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
