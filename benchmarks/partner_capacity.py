"""Measure how the client follows a service whose capacity changes: 32 requests at once, then 8, then 32, in real time.

    python benchmarks/partner_capacity.py [--capacity 32,8,32] [--seconds 60] [--latency 0.3] [--in-flight 64]

The sandbox answers 429 above its capacity. Printed per capacity: after how long the concurrent requests, as the sandbox
counts them, stay within 25% of it in every ten-second mean (aim: 30 s), and the share of requests rejected from 30 s on
(aim: under 2%).
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.settings import Secret, load_settings
from tests.service.process import StandIn

SETTLED_SECONDS, WITHIN, MEAN_SECONDS = 30, 0.25, 10
MOST_REFUSED = 0.02


async def ask(base_url: str, ids: list[int], in_flight: int, seconds: float) -> int:
    """Ask for the ids over and over for so long; return how many answers came."""
    partner = msgspec.structs.replace(
        load_settings(environ={}).partner,
        base_url=base_url,
        max_concurrency=in_flight,
        client_id=Secret("sandbox"),
        client_secret=Secret("sandbox"),
    )
    end = time.monotonic() + seconds
    count = 0
    async with PartnerClient(partner) as client, aclosing(fetch_all(client, "orders", itertools.cycle(ids))) as answers:
        async for answer in answers:
            count += not answer.code
            if time.monotonic() >= end:
                break
    return count


def settles(under_way: list[float], capacity: int) -> int | None:
    """Return the end of the first ten seconds from which on each ten's mean is within 25% of it; None: never."""
    means = [sum(under_way[at : at + MEAN_SECONDS]) / MEAN_SECONDS for at in range(len(under_way) - MEAN_SECONDS + 1)]
    off = [at for at, mean in enumerate(means) if abs(mean - capacity) > WITHIN * capacity]
    if not off:
        return MEAN_SECONDS
    return off[-1] + 1 + MEAN_SECONDS if off[-1] + 1 < len(means) else None


def main() -> int:
    """Measure and print; 1 where an aim is missed."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--capacity", default="32,8,32")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--latency", type=float, default=0.3)
    arguments.add_argument("--in-flight", type=int, default=64)
    chosen = arguments.parse_args()
    capacities = [int(text) for text in chosen.capacity.split(",")]
    trouble = {"capacity": capacities, "capacity_seconds": chosen.seconds, "latency_seconds": chosen.latency}
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder) / "ids"
        with StandIn(ids=ids, orders=500, stores=4, days=5) as sandbox:
            asked = [int(line) for line in ids.read_text().split()]
            sandbox.set_faults(**trouble)
            sandbox.clear_record()
            came = asyncio.run(ask(sandbox.base_url, asked, chosen.in_flight, chosen.seconds * len(capacities)))
            log: list[dict[str, Any]] = sandbox.served()["seconds"]
    print(f"{came:,} answers, {chosen.latency:g} s each, {chosen.in_flight} in flight at most")
    print(f"{'capacity':>8} {'settles after':>14} {'under way then':>15} {'429s then':>10}")
    missed = False
    for no, capacity in enumerate(capacities):
        spent = log[no * chosen.seconds : (no + 1) * chosen.seconds]
        seconds = settles([each["in_flight"] for each in spent], capacity)
        then = spent[SETTLED_SECONDS:]
        mean = sum(each["in_flight"] for each in then) / len(then)
        answers = sum(sum(each["ends"].values()) for each in then)
        refused = sum(each["ends"].get("429", 0) for each in then) / answers
        shown = "never" if seconds is None else f"{seconds} s"
        print(f"{capacity:8} {shown:>14} {mean:15.1f} {refused:10.2%}")
        missed |= seconds is None or seconds > SETTLED_SECONDS or refused >= MOST_REFUSED
    end = "MISSED" if missed else "reached"
    print(f"aims: settled after {SETTLED_SECONDS} s, then under {MOST_REFUSED:.0%} refused: {end}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
