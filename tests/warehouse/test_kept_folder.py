"""A folder in which everything was done by older code is upgraded by `ordermart run`, and keeps what it had."""

from __future__ import annotations

import codecs
import os
import sqlite3
import tarfile
import threading
from collections import Counter
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import httpx
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
    from collections.abc import Iterator

STATEMENT = (
    "Statement of October\n\n"
    "payout_id,merchant_store_id,client_order_id,transaction_date_local,transaction_type,currency,order_subtotal,"
    "delivery_fees,staff_tip,merchant_promotions,adjustment,commission,commission_tax,marketing_fee,net_total\n"
    "PO-000002,1,4,10/31/2026,DELIVERY,eur,€\u00a08.25,-,0,(1.25),1.25-,1.00,0,-,4.75\n"
    "Total,,,,,,8.25,0,0,(1.25),(1.25),1.00,0,0,4.75\n"
)
KEPT = Path(__file__).parents[1] / "kept_folders"
PORT = 46_677  # of the service that the folder is filled from
pytestmark = pytest.mark.slow


class Habits(BaseHTTPRequestHandler):
    """Forward to a service, with habits of others.

    There is a mark before each body, 403 for a token of six uses, a total, [] for an empty object and {} for a list.
    """

    behind = ""
    uses: Counter[str]

    def forward(self) -> None:
        """Ask the service, or refuse the token."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        self.uses[token := asked.get("Authorization", "")] += 1
        status, content = 403, b'{"error": "forbidden"}'
        if not token or self.uses[token] <= 6:
            answer = httpx.request(self.command, self.behind + self.path, content=body, headers=asked)
            status, content = answer.status_code, answer.content
            if "/orders/" in self.path or "/menus/" in self.path:
                self.uses["empty"] += content.count(b"{}") + content.count(b"[]")
                content = content.replace(b"{}", b"[?").replace(b"[]", b"{}").replace(b"[?", b"[]")
        self.send_response(status)
        listed = {"X-Total-Count": "7"} if self.path.endswith("/stores") else {}
        length = len(codecs.BOM_UTF8 + content)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(length), **listed}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(codecs.BOM_UTF8 + content)

    do_GET = do_POST = forward  # noqa: N815 - as the library wants them

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def habits(service: StandIn) -> Iterator[Counter[str]]:
    """Serve a stand-in with them, at the address from which the folder was filled."""
    handler = type("Handler", (Habits,), {"behind": service.base_url, "uses": Counter()})
    with ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield handler.uses  # type: ignore[attr-defined]
        server.shutdown()


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
    """The night is like any other: it asks for what failed then and for what webhooks named, closes and books stay.

    The service has learned other habits meanwhile, and so has the platform.
    """
    kept = Kept(tmp_path)
    entries = verify(ledger_of(kept.data)).entries
    assert entries > 8
    with StandIn(orders=4, stores=1, days=3, seed=5) as service, habits(service) as uses:
        kept.environ["ORDERMART_PARTNER__BASE_URL"] = f"http://127.0.0.1:{PORT}"
        night = kept.command("run")
        assert night.returncode == 3, night.stdout + night.stderr
        assert "x-total-count states 7 stores" in night.stdout + night.stderr
        assert "403 when a token has expired" in night.stdout + night.stderr
        assert uses["empty"] > 0
        # webhooks named two orders of files, which the service does not have
        assert {str(FAILED), "7", "8"} <= service.served()["tries"]["orders"].keys()
    assert verify(ledger_of(kept.data)).entries >= entries
    (tmp_path / "transactions_2.csv").write_text(STATEMENT, encoding="utf-16")
    mapping = (tmp_path / "dashline.toml").read_text("utf-8")
    (tmp_path / "dashline.toml").write_text(
        mapping.replace("[file]", '[file]\nrows_above = 2\ntotal = "Total"'), encoding="utf-8"
    )
    for command in (
        ("ledger", "verify"),
        ("inventory",),
        ("vault", "reveal", "order", "5", "--reason", "a test"),
        ("journal", "--check", "--map", str(tmp_path / "accounts.toml")),
        ("settlements", "import", str(tmp_path / "transactions_2.csv"), "--map", str(tmp_path / "dashline.toml")),
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
        fetched = "select count(*) from audit.quarantine where reason = 'wrong_type' and source <> 'archive'"
        assert db.execute(fetched).fetchone() == (0,)
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
