"""Compare the time that each function over text of the partner's takes for its worst input, and for twice as much.

Prints the slowest cases and those that take more than 2.5 times as long for twice the input; exits 1 if there are any.
An object of a million keys outgrows the processor's caches: the standard library's `json.loads` takes up to three times
as long for twice of it. Where it takes more than twice as long, a case may by the same factor.

    python benchmarks/worst_input.py [--mib 5] [--only TEXT]
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.settings import load_settings
from tests.worst_inputs import Case, cases

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
MOST = 2.5
AGAIN = 20  # tries, until one is good: other work on the machine slows some, what grows with the square fails in all
NOISE_SECONDS = 0.05  # what grew with the square of its input would take hours


def seconds(work: Callable[[Any], object], given: Any) -> float:
    """Return the CPU seconds of the work alone."""
    began = time.process_time()
    work(given)
    return time.process_time() - began


def growth(work: Callable[[Any], object], case: Case, size: int) -> tuple[float, float]:
    """Return the seconds for twice the size, and how many times those for the size they are."""
    once = twice = float("inf")
    for _ in range(AGAIN):
        once = min(once, seconds(work, case.of(size)))
        twice = min(twice, seconds(work, case.of(2 * size)))
        if twice <= MOST * once:
            break
    return twice, twice / once if once else 0.0


def allowed(case: Case, size: int) -> float:
    """Return how many times as long a case may take for twice the input."""
    try:
        return MOST * max(1.0, growth(json.loads, case, size)[1] / 2)
    except (TypeError, ValueError, RecursionError):
        return MOST  # not JSON as a whole


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=float, default=5.0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    gc.disable()  # it would count the objects of all cases
    size = int(arguments.mib * MIB)
    found = [
        (*growth(case.work, case, size), case)
        for case in cases(load_settings(environ={}))
        if arguments.only in case.name
    ]
    above = [each for each in found if each[0] > NOISE_SECONDS and each[1] > MOST]
    slow = [each for each in above if each[1] > allowed(each[2], size)]
    print(f"{len(found)} cases of {size:,} and {2 * size:,} bytes; the slowest:")
    for twice, ratio, case in sorted(found, key=lambda each: -each[0])[:12]:
        print(f"  {twice:7.3f} s  {ratio:4.1f} times  {case.name}")
    for twice, ratio, case in above:
        verdict = "MORE THAN ALLOWED" if (twice, ratio, case) in slow else "as json.loads of the same"
        print(f"more than {MOST} times: {case.name}: {twice:.3f} s, {ratio:.1f} times: {verdict}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
