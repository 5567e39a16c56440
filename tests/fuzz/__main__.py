"""Fuzz what reads other people's bytes: `python -m tests.fuzz --minutes 10`.

`--target NAME --seed N` repeats one input. Ends with 1 at the first input that crashes our code or that it takes for
something else, and prints how to repeat it.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from random import Random

from tests.fuzz.targets import TARGETS


def main() -> int:
    """Run all targets in turn until time is up, or one of them once."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first input")
    parser.add_argument("--target", choices=sorted(TARGETS), help="run this one alone, once")
    asked = parser.parse_args()
    if asked.target:
        TARGETS[asked.target](Random(f"{asked.target}/{asked.seed}"))
        return 0
    ends = time.monotonic() + asked.minutes * 60
    seed = asked.seed
    inputs: Counter[str] = Counter()
    while time.monotonic() < ends:
        for name, target in TARGETS.items():
            try:
                target(Random(f"{name}/{seed}"))
            except Exception:  # noqa: BLE001 -- whatever it is, it is a finding
                traceback.print_exc()
                sys.stderr.write(f"python -m tests.fuzz --target {name} --seed {seed}\n")
                return 1
            inputs[name] += 1
        seed += 1
    sys.stdout.write(f"{inputs.total():,} inputs, no crash and no difference: ")
    sys.stdout.write(", ".join(f"{name} {count:,}" for name, count in inputs.items()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
