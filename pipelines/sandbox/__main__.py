"""`python -m pipelines.sandbox`: serve a world; the same flags as `ordermart sandbox serve`."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path

from pipelines.sandbox.dialects import DIALECTS
from pipelines.sandbox.serve import DEFAULTS, ServeError, serve


def main() -> int:
    """Read the flags and serve."""
    flags = argparse.ArgumentParser(prog="python -m pipelines.sandbox", description=__doc__)
    flags.add_argument("--host", default="127.0.0.1")
    flags.add_argument("--port", type=int, default=8600, help="0 takes a free one")
    flags.add_argument("--seed", type=int, default=DEFAULTS.seed)
    flags.add_argument("--stores", type=int, default=DEFAULTS.stores)
    flags.add_argument("--orders", type=int, default=DEFAULTS.orders)
    flags.add_argument("--days", type=int, default=DEFAULTS.days)
    flags.add_argument("--until", type=dt.date.fromisoformat, default=DEFAULTS.until, help="last day with orders")
    flags.add_argument("--faults", type=float, default=DEFAULTS.faults, help="share of orders and menus with a fault")
    flags.add_argument("--menu-faults", type=float, help="share of menus, where it is another one")
    flags.add_argument("--fault-kind", action="append", default=[], dest="fault_kinds", help="only these kinds")
    flags.add_argument("--truth", type=Path, help="write the planted faults to this file, as JSON lines")
    flags.add_argument("--ids", type=Path, help="write all order ids to this file, one a line")
    flags.add_argument("--client-id", default="sandbox")
    flags.add_argument("--client-secret", default="sandbox")
    flags.add_argument("--token-life-seconds", type=int, default=3600)
    flags.add_argument("--dialect", choices=DIALECTS, default="standard", help="how it says what is not shown")
    flags.add_argument("--trouble", action="append", default=[], metavar="NAME=VALUE", help="such as rate_500=0.1")
    flags.add_argument("--webhooks", action="append", default=[], metavar="NAME=VALUE", help="such as to=URL")
    flags.add_argument("--story", action="store_true", help="the demo's world: more happens than chance brings")
    flags.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")
    try:
        serve(**vars(flags.parse_args()))
    except (ServeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
