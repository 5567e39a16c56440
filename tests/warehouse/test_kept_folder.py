"""A folder in which everything was done by older code is upgraded by `ordermart run`, and keeps what it had."""

from __future__ import annotations

import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.inbox.store import inbox_path, undecodable
from pipelines.inbox.worklist import WorkList
from pipelines.ledger import ledger_of, verify
from pipelines.settings import load_settings
from pipelines.vault import VaultError, open_vault
from tests.busy_folder import FAILED
from tests.forked import ordermart
from tests.service.process import StandIn

if TYPE_CHECKING:
    import subprocess

KEPT = Path(__file__).parents[1] / "kept_folders"
PORT = 46_677  # of the service that the folder is filled from
pytestmark = pytest.mark.slow


class Kept:
    """The folder, unpacked, and commands on it."""

    def __init__(self, folder: Path, name: str = "a2fa3c4d", **environ: str) -> None:
        with tarfile.open(KEPT / f"{name}.tar.gz") as packed:
            packed.extractall(folder, filter="data")
        for keys in folder.glob("keys.json"):
            keys.chmod(0o600)
        self.folder = folder
        self.environ = {
            "ORDERMART_WAREHOUSE__THREADS": "1",
            "ORDERMART_CONFIG": str(folder / "ordermart.toml"),
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            **environ,
        }
        self.settings = load_settings(folder / "ordermart.toml", self.environ)
        self.data = self.settings.data_dir

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `ordermart`; it never ends in a traceback."""
        done = ordermart(arguments, {**os.environ, **self.environ}, timeout=300)
        assert "Traceback" not in done.stdout + done.stderr
        return done


@pytest.mark.timeout(900)
def test_a_folder_with_everything_is_upgraded_by_run(tmp_path: Path) -> None:
    """The night is like any other: it asks for what failed then and for what webhooks named, closes and books stay."""
    kept = Kept(tmp_path)
    entries = verify(ledger_of(kept.data)).entries
    assert entries > 8
    with StandIn(orders=4, stores=1, days=3, seed=5, port=PORT) as service:
        kept.environ["ORDERMART_PARTNER__BASE_URL"] = service.base_url
        night = kept.command("run")
        # webhooks named two orders of files, which the service does not have
        assert night.returncode in {0, 3}, night.stdout + night.stderr
        assert {str(FAILED), "7", "8"} <= service.served()["tries"]["orders"].keys()
    assert verify(ledger_of(kept.data)).entries >= entries
    for command in (
        ("ledger", "verify"),
        ("inventory",),
        ("vault", "reveal", "order", "5", "--reason", "a test"),
        ("journal", "--check", "--map", str(tmp_path / "accounts.toml")),
        ("settlements", "list"),
        ("restatements", "list", "--all"),
        ("backup", str(tmp_path / "backup")),
    ):
        done = kept.command(*command)
        is_listing = command[0] in {"settlements", "restatements"}  # which say what is open
        assert done.returncode in ({0, 3} if is_listing else {0}), (command, done.stdout + done.stderr)
    assert "already closed" in kept.command("close", "2026-10-31", "--check").stdout.lower()
    with open_vault(kept.settings) as vault, pytest.raises(VaultError, match="were erased"):
        vault.decrypt("orders", 6)
    assert len(undecodable(inbox_path(kept.data))) == 1
    with WorkList(inbox_path(kept.data)) as work:
        assert work.dead_letters() == []
    with duckdb.connect(str(kept.data / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        rows = db.execute(
            "select order_id, cast(total_price as varchar) from core.orders where order_id < 9"
        ).fetchall()
    totals = {2: "9.2500", 3: "10.2500"}
    assert dict(rows) == {id_: totals.get(id_, "8.2500") for id_ in range(1, 9)}


def test_an_older_folder_says_what_signs_its_ledger_again(tmp_path: Path) -> None:
    """A vault with the key and without the head, as before it kept one: no word of a backup, one command helps."""
    kept = Kept(tmp_path)
    with closing(sqlite3.connect(kept.data / "vault" / "vault.sqlite")) as db, db:
        db.execute("delete from meta where name = 'ledger/head'")
    refused = kept.command("ledger", "verify")
    assert refused.returncode == 1
    assert "ordermart ledger accept-head" in refused.stderr
    assert "backup" not in refused.stderr
    shown = kept.command("ledger", "accept-head", "--reason", "of an older version")
    head = ledger_of(kept.data).head()
    assert (shown.returncode, head in shown.stdout) == (3, True)
    wrong = kept.command("ledger", "accept-head", "0" * 64, "--reason", "of an older version")
    assert wrong.returncode == 1
    signed = kept.command("ledger", "accept-head", head, "--reason", "of an older version")
    assert signed.returncode == 0, signed.stdout + signed.stderr
    assert kept.command("ledger", "verify").returncode == 0


def test_values_that_cannot_be_are_mended_by_an_upgrade(tmp_path: Path) -> None:
    """The same code landed them, and counted them: in New York until 15 October, in Berlin since."""
    keys = {"MASTER_KEY": "A" * 43 + "=", "LOOKUP_SECRET": "B" * 43 + "="}
    kept = Kept(tmp_path, "values", **{f"ORDERMART_VAULT__{name}": key for name, key in keys.items()})
    assert kept.command("build").returncode == 0
    with duckdb.connect(str(kept.data / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        rows = db.execute(
            "select order_id, store_id, cast(business_date as varchar), currency, cast(total_price as varchar) "
            "from mart.orders"
        ).fetchall()
        people = db.execute("select count(distinct customer_key) from mart.orders").fetchone()
        findings = db.execute("select distinct check_name, entity_id from audit.findings").fetchall()
    assert sorted(rows) == [
        (1, 1, "2026-10-01", "USD", "23.5000"),  # on the clocks of the zone of before
        (2, 2, "2026-10-02", "USD", "23.5000"),  # of a store whose record says usd
        (3, 2, "2026-10-03", "USD", "23.5000"),  # its id came back for another order, of store 3
        (4, 3, "2026-10-04", "US$", "23.5000"),
        (5, 1, None, "USD", "23.5000"),  # created in the year 1
        (6, 2, None, "USD", "23.5000"),  # created in the year 9999
        (7, 1, "2026-10-21", "USD", "23.5000"),
    ]
    assert people == (7,)
    assert {
        ("core.order_changes__are_of_one_order", 3),
        ("core.orders__have_possible_times", 5),
        ("core.orders__have_possible_times", 6),
        ("core.store_versions__keep_their_timezone", 1),
        ("core.stores__have_a_known_currency", 3),
    } <= {*findings}
