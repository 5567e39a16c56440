"""Compare the time that each function over text of the partner's takes for its worst input, and for twice as much.

Prints the slowest cases and those that take more than 2.5 times as long for twice the input; exits 1 if there are any.
An object of a million keys outgrows the processor's caches: the standard library's `json.loads` takes up to three times
as long for twice of it. Where it takes more than twice as long, a case may by the same factor. Each case runs in a
process of its own: memory that an earlier case left makes a small input faster than a large one that outgrows it.

    python benchmarks/worst_input.py [--mib 5] [--only TEXT]
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from multiprocessing import get_context
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


def measured(number: int, size: int) -> tuple[float, float, float]:
    """Return the growth of the case of that number, and how many times as long it may take."""
    gc.disable()  # it would count the objects of all cases
    case = list(cases(load_settings(environ={})))[number]
    twice, ratio = growth(case.work, case, size)
    return twice, ratio, allowed(case, size) if ratio > MOST else MOST


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=float, default=5.0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    size = int(arguments.mib * MIB)
    names = [case.name for case in cases(load_settings(environ={}))]
    wanted = [(number, size) for number, name in enumerate(names) if arguments.only in name]
    with get_context("fork").Pool(1, maxtasksperchild=1) as process:
        figures = process.starmap(measured, wanted, chunksize=1)
    found = [(*figure, names[number]) for (number, _), figure in zip(wanted, figures, strict=True)]
    print(f"{len(found)} cases of {size:,} and {2 * size:,} bytes; the slowest:")
    for twice, ratio, _, name in sorted(found, reverse=True)[:12]:
        print(f"  {twice:7.3f} s  {ratio:4.1f} times  {name}")
    slow = 0
    for twice, ratio, most, name in found:
        if twice > NOISE_SECONDS and ratio > MOST:
            slow += ratio > most
            verdict = "MORE THAN ALLOWED" if ratio > most else "as json.loads of the same"
            print(f"more than {MOST} times: {name}: {twice:.3f} s, {ratio:.1f} times: {verdict}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
