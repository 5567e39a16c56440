"""Measure 100,000 rows of a statement: read and imported, matched with 100,000 orders, and checked. CPU seconds.

python benchmarks/settlements.py
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.warehouse import catalogue
from tests.settlements import statements
from tests.settlements.conftest import Books

MOST_SECONDS = 10
ROWS = 100_000


def main() -> None:
    """Print the CPU seconds of each step; fail if one takes too long."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"threads": 1}) as con:
        books = Books(Path(folder), statements.many(random.Random(1), ROWS, Path(folder)))
        took = {}
        started = time.process_time()
        books.statement("transactions_1.csv", "dashline")
        took["import"] = time.process_time() - started
        books.prepare(con)
        started = time.process_time()
        books.make(con)
        took["match"] = time.process_time() - started
        started = time.process_time()
        checks = [each for each in catalogue.checks() if "settlement" in each.name or "payouts" in each.name]
        assert not any(con.execute(check.sql).fetchall() for check in checks)
        took["check"] = time.process_time() - started
    for step, seconds in took.items():
        print(f"{step} {seconds:.1f} s of CPU")
    assert max(took.values()) <= MOST_SECONDS


if __name__ == "__main__":
    main()
