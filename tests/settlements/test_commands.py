"""From a file to `settlements list`: the commands on a data folder that is built and published for real."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.settings import load_settings
from pipelines.warehouse.release.release import publish
from tests.forked import ordermart
from tests.settlements.statements import MAPPINGS
from tests.warehouse.conftest import World, order

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

HEADER = (
    "payout_id,merchant_store_id,client_order_id,delivery_id,transaction_date_local,transaction_type,currency,"
    "customer_name,order_subtotal,delivery_fees,staff_tip,merchant_promotions,adjustment,commission,commission_tax,"
    "marketing_fee,net_total\n"
)
ROWS = (
    "PO-000001,2,1,3,11/02/2026,DELIVERY,EUR,Jane Canary,11.5001,2,0,0,0,2.03,0,0,11.4701\n"
    "PO-000001,1,2,1,11/03/2026,DELIVERY,EUR,Jane Canary,11.49,2,0,0,0,2.02,0,0,11.47\n"
    "PO-000001,1,77,2,11/03/2026,DELIVERY,EUR,Jane Canary,5,0,0,0,0,0,0,0,5\n"
)


def not_available(folder: Path) -> set[str]:
    """Return what the current release says that it has not: it depends on what statements state."""
    with duckdb.connect(str(folder / "data" / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        return {row[0] for row in db.execute("select subject from meta.not_available").fetchall()}


def mapped_keys(folder: Path, output: str) -> str:
    """Return what `settlements keys` says of columns; its mapping has the keys and signs of the one by a person."""
    keys, _, proposed = output.partition("\nA mapping to correct")
    (folder / "guess.toml").write_text(proposed.partition("\n")[2].replace('""', '"guess"', 2), encoding="utf-8")
    read, written = tomllib.loads(proposed.partition("\n")[2]), tomllib.loads((MAPPINGS / "dashline.toml").read_text())
    assert (read["components"], read["check"]) == (written["components"], written["check"])
    assert all(
        read["line"][key] == written["line"][key] for key in ("statement", "payout", "store", "order", "currency")
    )
    return keys.replace("\n  ", " ")


@pytest.mark.slow
def test_file_becomes_ledger_tables_and_list(tmp_path: Path) -> None:
    """One mapping and one file: imported, built by an increment, listed; the orders' receipt and the payout explain it.

    A rebuild has the same rows, and nothing of a column that the mapping does not name is anywhere in the data folder.
    """
    world = World(tmp_path, ORDERMART_FINANCE__CURRENCY="EUR")
    (tmp_path / "ordermart.toml").write_text('[sales]\ncounted_statuses = ["preparing"]\n', encoding="utf-8")
    world.settings = load_settings(world.settings.file, {"ORDERMART_FINANCE__CURRENCY": "EUR"})
    world.land("orders", [{"id": no, "document": order(no, platform="dashline")} for no in (1, 2, 3)])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {"ORDERMART_CONFIG": str(tmp_path / "ordermart.toml"), "ORDERMART_FINANCE__CURRENCY": "EUR"}
        return ordermart(arguments, environ, timeout=120)

    assert run("build").returncode == 0
    mapping, file = str(MAPPINGS / "dashline.toml"), tmp_path / "transactions_1.csv"
    file.write_text(HEADER + ROWS, encoding="utf-8")
    done = run("settlements", "import", str(file), "--map", mapping)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "transactions_1.csv: 1 statements with 3 rows imported as ledger entry 1.",
    )
    assert "imported before" in run("settlements", "import", str(file), "--map", mapping).stderr
    bank = tmp_path / "bank.csv"
    bank.write_text("Booking date,Amount,Remittance\n2026-11-05,27.9401,DASH PO-000001\n2026-11-06,5,Jane Canary\n")
    assert run("settlements", "import", "--bank", str(bank), "--map", mapping).returncode == 0
    assert run("build").returncode == 0
    publish(world.settings)
    assert not_available(tmp_path) & {"commission", "payout", "refunds", "tax"} == {"refunds", "tax"}
    listed = run("settlements", "list")
    assert listed.returncode == 3, listed.stderr
    for line in (
        "dashline, order: differs: 1 of 13.5001 EUR; open 0.0101",
        "dashline, order: open: 1 of 13.5001 EUR",
        "dashline, line: not_ours: 1",
        "dashline, PO-000001: 27.9401 EUR paid on 2026-11-05",
    ):
        assert line in listed.stdout, listed.stdout
    assert run("settlements", "list", "--unknown-orders").stdout == "77\n"
    assert "settlement:dashline/2: amount_differs, 0.0101 EUR, since 2026-11-03" in listed.stdout
    keys_of_breaks = ("settlement:dashline/2", "line:1/4")
    assert [run("breaks", "accept", key, "--reason", "r").returncode for key in ("line:1/99", "line")] == [1, 2]
    assert run("breaks", "assign", "line:1/4", "--to", "Ben").returncode == 0
    assert run("breaks", "comment", "line:1/4", "--text", "asked them").returncode == 0
    listed = run("settlements", "list").stdout
    assert "assigned to Ben" in listed
    assert ": asked them" in listed
    accepted = run("breaks", "accept", *keys_of_breaks, "--reason", "r", "--account-class", "loss").stdout
    assert "Accepted 2 breaks as ledger entry" in accepted
    assert "settlements +5.0101 EUR" in accepted
    assert run("settlements", "list").returncode == 0
    explained = run("explain", "payout", "PO-000001")
    assert explained.returncode == 0
    assert "not_ours                        5.00  in 1 match\n" in explained.stdout
    receipt = run("explain", "order", "1").stdout
    assert "transactions_1.csv row 2: commission -2.03 EUR, by order_id: matched" in receipt.replace("\n    ", " ")
    assert {"Settlement by dashline: settled", "  commission of row 2: 2.03 charged; no rate is in force"} <= {
        *receipt.splitlines()
    }
    keys = mapped_keys(tmp_path, run("settlements", "keys", str(file)).stdout)
    assert "adjustment" not in keys
    for column, counts in {"client_order_id: 2": (2, 2, 0), "delivery_id: 3": (3, 1, 0)}.items():
        shared = "of these rows have {} the order's store, {} the order's day, {} the order's amount".format(*counts)
        assert f"{column} of 3 values are ids of orders; {shared}" in keys, keys
    assert run("build").returncode == 0
    before = world.contents()
    world.build(full=True)
    assert world.contents() == before
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file() and b"Canary" in path.read_bytes()]
