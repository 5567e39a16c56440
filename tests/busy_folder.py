"""Write the data folder of a code version in which everything was done once: `python -m tests.busy_folder FILE`.

Closes, restatements, posts, an erasure, a reveal, rotated keys, webhooks, quarantine, a statement, a journal and a
night with an id that failed. `tests/kept_folders/a2fa3c4d.tar.gz` was written by the code of that commit,
whose data folders `ordermart run` upgrades; nothing in it was ever about a person. Releases are made again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from pipelines.vault import new_key_file
from tests.service.process import StandIn

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = """
[sales]
counted_statuses = ["done", "delivered", "picked_up"]
excluded_statuses = ["refused", "cancelled"]
[finance]
currency = "EUR"
[formula]
total_rule = "observed/unrounded"
subtotal_rule = "line_price/no_modifiers/all_add/before_discount/unrounded"
[vault]
key_file = "keys.json"
[partner]
max_attempts = 2
timeout_seconds = 2
"""
CLASSES = (
    "receivable clearing unmatched bank bank_fees subtotal_price delivery_price discount tip commission marketing "
    "adjustment"
).split()
STATEMENT = (
    "payout_id,merchant_store_id,client_order_id,transaction_date_local,transaction_type,currency,order_subtotal,"
    "delivery_fees,staff_tip,merchant_promotions,adjustment,commission,commission_tax,marketing_fee,net_total\n"
    "PO-000001,1,1,10/31/2026,DELIVERY,EUR,8.25,0,0,0,0,1.00,0,0,7.25\n"
    "PO-000001,1,2,10/31/2026,DELIVERY,EUR,8.25,0,0,0,0,1.00,0,0,7.25\n"
)
OF_NOBODY = {
    "user_name": "Nobody",
    "dispatch_method": "store_delivery",
    "store_id": 1,
    "status": "done",
    "platform": "web",
    "deliveries": [],
}
FAILED = 900_001  # an id that never had a usable answer


def order(order_id: int, day: str, total: str = "8.25") -> dict[str, Any]:
    """Return an order as the service sends it, of nobody, which both rules explain."""
    line = {"id": 10 * order_id, "product_id": 100, "quantity": 1, "name": "Soup", "instructions": "", "price": 7.25}
    items = [{**line, "modifiers": []}]
    prices = {"subtotal_price": 7.25, "delivery_price": 2, "tip": 0, "discount": 1, "loyalty_discount": 0}
    tip = float(Decimal(total) - Decimal("8.25"))
    return {
        **OF_NOBODY, **prices, "id": order_id, "user_phone": f"+49000{order_id}", "tip": tip,
        "total_price": float(total), "created_at": f"{day}T10:00:00Z", "items": items,
    }  # fmt: skip


def write(folder: Path) -> None:  # noqa: PLR0915 -- one thing after the other
    """Write the folder, its keys and its settings."""
    new_key_file(folder / "keys.json")
    (folder / "ordermart.toml").write_text(SETTINGS, encoding="utf-8")
    environ = {**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1", "ORDERMART_CONFIG": str(folder / "ordermart.toml")}

    def run(*arguments: str, codes: tuple[int, ...] = (0,)) -> None:
        command = [sys.executable, "-m", "pipelines.cli", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        sys.stderr.write(f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
        if done.returncode not in codes:
            raise SystemExit(f"{arguments[0]} failed")

    def land(kind: str, documents: list[Any]) -> None:
        file = folder / f"{kind}.ndjson"
        file.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
        run("land", kind, str(file), codes=(0, 3))
        file.unlink()

    land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
    orders = [order(each, "2026-10-31") for each in range(1, 7)] + [order(each, "2026-11-02") for each in (7, 8)]
    land("orders", [*orders, {**order(9, "2026-11-02"), "items": "none"}])
    with StandIn(orders=4, stores=1, days=3, seed=5) as service:
        partner = {"BASE_URL": service.base_url, "CLIENT_ID": "sandbox", "CLIENT_SECRET": "sandbox"}
        environ |= {f"ORDERMART_PARTNER__{name}": value for name, value in partner.items()}
        service.set_faults(poison=[FAILED], poison_with="500")
        (folder / "ids").write_text(f"{FAILED}\n", encoding="utf-8")
        run("run", "--order-ids", str(folder / "ids"), codes=(0, 3))
        (folder / "ids").unlink()
    reason = ("--with-exceptions", "the folder is kept as it is")
    run("close", "2026-10-31", *reason)
    land("orders", [order(2, "2026-10-31", "9.25")])
    run("build")
    run("restatements", "post", "--period", "2026-11")
    land("orders", [order(3, "2026-10-31", "10.25")])
    run("build")
    totals = folder / "totals.csv"
    header = "business_date,store_id,order_count,amount,amount_field,sale_classes"
    totals.write_text(f"{header}\n2026-11-02,1,2,16.50,total_price,counted\n", encoding="utf-8")
    run("totals", "import", str(totals))
    totals.unlink()
    mapping = (ROOT / "tests" / "settlements" / "mappings" / "dashline.toml").read_text("utf-8")
    (folder / "dashline.toml").write_text(mapping.replace('= ["dashline"]', '= ["web"]'), encoding="utf-8")
    (folder / "transactions_1.csv").write_text(STATEMENT, encoding="utf-8")
    run("settlements", "import", str(folder / "transactions_1.csv"), "--map", str(folder / "dashline.toml"))
    run("build")
    lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
    (folder / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")
    journal = ("journal", "--period", "2026-10", "--map", str(folder / "accounts.toml"))
    run(*journal, "--out", str(folder / "journal"))
    run("vault", "reveal", "order", "5", "--reason", "the folder is kept")
    run("vault", "erase", "--order-id", "6")
    run("vault", "rotate", "--new-key-file", str(folder / "new.json"))
    (folder / "new.json").replace(folder / "keys.json")
    receive(folder, environ)
    run("ledger", "verify")
    run("inventory")


def receive(folder: Path, environ: dict[str, str]) -> None:
    """Start the receiver, and send it three webhooks, one of which names no id."""
    command = [sys.executable, "-m", "pipelines.cli", "webhooks", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        address = receiver.stdout.readline().strip().removeprefix("ready on ")
        for body in ({"topic": "orders.update", "id": 7}, {"topic": "orders.update", "id": 8}, {"odd": 1}):
            assert httpx.post(address, json=body).status_code == 202
        receiver.terminate()


def main() -> int:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        with tarfile.open(sys.argv[1], "w:gz") as archive:
            for path in sorted(folder.rglob("*")):
                parts = path.relative_to(folder).parts
                if path.is_file() and not {"published", "warehouse"} & set(parts) and path.suffix != ".lock":
                    archive.add(path, "/".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
