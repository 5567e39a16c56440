"""Measure what the inventory adds to a commit of the webhook receiver: the same groups, with its triggers and without.

    python benchmarks/inventory_commit.py [--commits 2000] [--group 8]

Both files are written in turns, so that a busy machine slows both. Prints the median time and CPU of a commit, and the
share that the inventory adds (aim: at most 5%).
"""

# ruff: noqa: SLF001 -- a commit is timed alone, without the thread that gathers groups
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.inbox.store import Committer, Inbox, Notification, WebhookDelivery, reason_bit
from pipelines.inventory import STORES, WORK_LIST


def groups(commits: int, size: int) -> list[list[WebhookDelivery]]:
    """Return groups of deliveries; ids come again."""
    named = [Notification("orders.update", "orders", id_, str(id_), None) for id_ in range(20_000)]
    return [
        [WebhookDelivery(None, at, named[(at * 7_919 + n) % len(named)], 80, None) for n in range(size)]
        for at in range(1, commits + 1)
    ]


class Before(Committer):
    """Commits as before there was an inventory: the reason is looked up for each group."""

    def _write(self, connection: Inbox, *given: Any) -> None:
        reason_bit(connection, "webhook")
        super()._write(connection, *given)


def without_triggers(committer: Committer) -> None:
    """Remove what notes changed parts."""
    connection = committer._open()
    for table in STORES[WORK_LIST]:
        for event in ("insert", "update", "delete"):
            connection.execute(f"drop trigger if exists inventory_{table.name}_{event}")


def main() -> None:
    """Commit in turns, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commits", type=int, default=2_000)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--folder", default=None, help="a folder on the disk that is meant")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        tracked = Committer(Path(folder) / "tracked" / "worklist.sqlite")
        plain = Before(Path(folder) / "plain" / "worklist.sqlite")
        without_triggers(plain)
        tracked._open()
        spent: dict[str, list[tuple[float, float]]] = {"with": [], "without": []}
        for no, group in enumerate(groups(asked.commits, asked.group)):
            both = [("with", tracked), ("without", plain)]
            for name, committer in both if no % 2 else reversed(both):
                began, cpu = time.perf_counter(), time.thread_time()
                if not committer._commit(group):
                    raise SystemExit("a commit failed")
                spent[name].append((time.perf_counter() - began, time.thread_time() - cpu))
        for what, place in (("time", 0), ("CPU", 1)):
            found = {name: statistics.median(each[place] for each in of) for name, of in spent.items()}
            added = found["with"] / found["without"] - 1
            print(f"{what}: {found['with'] * 1e3:.3f} ms with, {found['without'] * 1e3:.3f} ms without: {added:+.1%}")
        tracked._close()
        plain._close()


if __name__ == "__main__":
    main()
