"""Compare the time that each function over text of the partner's takes for its worst input, and for twice as much.

Prints the slowest cases and those that take more than 2.5 times as long for twice the input; exits 1 if there are any.

    python benchmarks/worst_input.py [--mib 1] [--only TEXT]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.settings import load_settings
from tests.worst_inputs import Case, cases

MIB = 1 << 20
MOST = 2.5
REPEATS = 2
AGAIN = 3
NOISE_SECONDS = 0.02  # below it, a ratio says nothing


def seconds(case: Case, size: int) -> float:
    """Return the CPU seconds of the work alone, the best of some."""
    given, best = case.of(size), float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        case.work(given)
        best = min(best, time.process_time() - began)
    return best


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=float, default=1.0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    gc.disable()  # it would count the objects of all cases
    size = int(arguments.mib * MIB)
    found = []
    for case in cases(load_settings(environ={})):
        if arguments.only in case.name:
            once, twice = seconds(case, size), seconds(case, 2 * size)
            for _ in range(AGAIN):  # a busy machine
                if once and twice / once > MOST:
                    once, twice = min(once, seconds(case, size)), min(twice, seconds(case, 2 * size))
            found.append((twice, twice / once if once else 0.0, case.name))
    slow = [each for each in found if each[0] > NOISE_SECONDS and each[1] > MOST]
    print(f"{len(found)} cases of {size:,} and {2 * size:,} bytes; the slowest:")
    for twice, ratio, name in sorted(found, reverse=True)[:12]:
        print(f"  {twice:7.3f} s  {ratio:4.1f} times  {name}")
    for twice, ratio, name in slow:
        print(f"MORE THAN {MOST} TIMES: {name}: {twice:.3f} s, {ratio:.1f} times")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
