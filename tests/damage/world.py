"""A small data folder with everything in it, as it was after a night and as it is now, and ways to damage it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from pipelines.inbox.worklist import WorkList
from pipelines.inventory import structure
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from tests.forked import ordermart
from tests.rewriting import rewriting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.rewriting import Change

DAMAGES = ("flip", "cut", "delete", "older")
LOCKS = (".lock", "-queue", "-write", "-shm", "-wal")
SECONDS = 240.0
_NOTES = 'INSERT INTO "inventory_'


def well(_path: str, status: int, body: Any) -> tuple[int, Any]:
    """Change nothing."""
    return status, body


@dataclass
class World:
    """The folder of a made-up service; `before` and `now` are copies of its data folder, `backups` has one of now.

    `change` is what becomes of the service's answers.
    """

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    change: Change = well

    @property
    def data(self) -> Path:
        """The data folder that commands work on."""
        return self.folder / "data"

    def answer(self, path: str, status: int, body: Any) -> tuple[int, Any]:
        """Return the changed answer of the service."""
        return self.change(path, status, body)

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run `ordermart`; return its exit code and all that it said."""
        done = ordermart(arguments, {**os.environ, **self.environ}, timeout=SECONDS, folder=self.folder)
        return done.returncode, done.stdout + done.stderr

    def keep(self, name: str) -> None:
        """Copy the data folder."""
        shutil.copytree(self.data, self.folder / name, symlinks=True)

    def reset(self) -> None:
        """Bring data folder, backups, witness and service back as they are now, with the times of files."""
        self.change = well
        for name in ("data", "backups", "witness"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if (self.folder / f"{name}.now").exists():
                shutil.copytree(self.folder / f"{name}.now", self.folder / name, symlinks=True)

    def files(self) -> list[str]:
        """Return every file below the data folder as it is now; locks and SQLite's own are empty or come back."""
        now = self.folder / "data.now"
        paths = [path for path in now.rglob("*") if path.is_file() and not path.is_symlink()]
        names = sorted(str(path.relative_to(now)) for path in paths)
        return [name for name in names if not name.endswith(LOCKS)]

    def damage(self, name: str, damage: str, at: float) -> bool:
        """Damage a file; return whether that can be done to it. `at` is the place of a flip, from 0 to 1."""
        path, older = self.data / name, self.folder / "data.before" / name
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        content = bytearray(path.read_bytes())
        if damage == "delete":
            path.unlink()
            return True
        if damage == "older":
            if not older.exists() or older.read_bytes() == content:
                return False
            path.unlink()  # a release's files may be links of one another
            shutil.copy2(older, path)
            return True
        if not content:
            return False
        if damage == "flip":
            content[min(int(at * len(content)), len(content) - 1)] ^= 1 << int(at * 1000) % 8
        else:
            del content[len(content) * 2 // 3 :]
        path.unlink()
        path.write_bytes(content)
        os.utime(path, ns=times)
        return True

    def is_same(self, name: str) -> bool:
        """Tell whether an SQLite file has the same rows and indexes as before: only unused bytes differ.

        Or notes of changes: a part that seems unchanged and is not is named, one that is not compared is read
        again, and no bit changes both.
        """
        if not name.endswith((".sqlite", ".db")) or structure(self.data / name):
            return False
        now = self.folder / "data.now" / name
        with closing(sqlite3.connect(self.data / name)) as one, closing(sqlite3.connect(now)) as two:
            try:
                rows = [[line for line in db.iterdump() if not line.startswith(_NOTES)] for db in (one, two)]
                return rows[0] == rows[1]
            except sqlite3.DatabaseError:
                return False

    def orders(self) -> list[tuple[object, ...]]:
        """Return the current release's facts on each order."""
        file = self.data / "published" / "current" / "ordermart.duckdb"
        with duckdb.connect(str(file), read_only=True) as db:
            query = "select order_id, status, total_price, customer_key from core.orders order by all"
            return db.execute(query).fetchall()


# Two dozen orders support the formula, and each status is one of both.
SETTINGS = """
[sales]
counted_statuses = ["delivered", "picked_up", "accepted", "preparing", "ready", "on_the_way", "returned"]
excluded_statuses = ["cancelled", "rejected"]
[formula]
min_distinguishing_orders = 3
max_violation_rate = 0.2
"""


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Make the folder: two nights, webhooks, totals, a closed day, waiting ids, a backup of each night."""
    folder.mkdir(parents=True, exist_ok=True)
    new_key_file(folder / "keys.json")
    (folder / "ordermart.toml").write_text(f'{SETTINGS}[ledger]\nwitness = "{folder}/witness"\n')
    made = World(folder)
    with (
        Sandbox(ids=folder / "ids", orders=24, stores=2, days=3) as sandbox,
        rewriting(sandbox.base_url, made.answer) as address,
    ):
        made.environ |= {
            "ORDERMART_CONFIG": str(folder / "ordermart.toml"),
            "ORDERMART_PARTNER__BASE_URL": address,
            "ORDERMART_PARTNER__OUTAGE_TIMEOUT_SECONDS": "3",
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            "ORDERMART_VAULT__KEY_FILE": str(folder / "keys.json"),
            "ORDERMART_DATA__DIR": str(folder / "data"),
            "ORDERMART_SCHEDULE__IS_ON": "false",
            "ORDERMART_VERIFY__SECONDS": "5",
        }
        ids = (folder / "ids").read_text().split()
        for name, part in (("one", ids[:16]), ("two", ids[16:])):
            (folder / name).write_text("\n".join(part))
        night(made, "one")
        close(made, 0)
        made.keep("data.before")
        night(made, "two")
        close(made, 1)
        with WorkList(made.data / "inbox" / "worklist.sqlite") as work:
            work.add("orders", map(int, ids[:2]), why="a test")
        with open_vault(load_settings(made.folder / "ordermart.toml", made.environ)):
            pass
        expect(made, "build")
        expect(made, "backup", str(folder / "backups"))
        expect(made, "run", "--due")
        expect(made, "build")
        made.keep("data.now")
        for name in ("backups", "witness"):
            shutil.copytree(folder / name, folder / f"{name}.now")
        yield made


def night(made: World, ids: str) -> None:
    """Run a night that fetches the ids of a file."""
    expect(made, "run", "--order-ids", str(made.folder / ids))


def close(made: World, number: int) -> None:
    """Import a control total and close a day with whatever stands against it."""
    file = made.data / "published" / "current" / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as db:
        query = (
            "select business_date, min(store_id) from mart.orders where business_date is not null group by 1 order by 1"
        )
        day, store = db.execute(query).fetchall()[number]
    totals = made.folder / f"totals-{number}.csv"
    header = "business_date,store_id,order_count,amount,amount_field,sale_classes"
    totals.write_text(f"{header}\n{day},{store},1,10.00,total_price,all\n")
    expect(made, "totals", "import", str(totals))
    expect(made, "build")
    expect(made, "close", "day", str(day), "--with-exceptions", "a test")


def expect(made: World, *arguments: str) -> None:
    """Run a command that must succeed."""
    code, said = made.command(*arguments)
    if code not in (0, 3):
        raise RuntimeError(f"{' '.join(arguments)}: {code}\n{said}")
