"""A charge of the order is added in two files by hand, and is then reconciled, closed, explained and shown."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipelines.landing.shape import CHARGES, ORDER, PRICES, expanded
from pipelines.ledger import CLOSED_ORDERS, day_hashes

if TYPE_CHECKING:
    from pathlib import Path

CHARGE = '    Charge("service_charge", "service charge", 1, {part_of!r}, since="0.2.0"),\n'
MEANING = "-- service_charge DECIMAL(18,4) null: The service charge, as sent; null if the order has none.\n"
SCRIPT = """
import datetime as dt, json, subprocess, sys
from pathlib import Path
import duckdb
from pipelines.finance import closing
from pipelines.finance.released import one_day
from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import open_release
from pipelines.finance.released import Selection
from pipelines.landing.load import Load
from pipelines.landing.shape import ORDER
from pipelines.ledger import ledger_of
from pipelines.report.audit_pack import make_pack
from pipelines.report.explain import explain_order
from pipelines.report.finance_views import page_text
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.warehouse.release.release import publish

folder, is_whole = Path(sys.argv[1]), sys.argv[2] == "whole"
new_key_file(folder / "keys.json")
(folder / "settings.toml").write_text(
    '[data]\\ndir = "data"\\n[warehouse]\\nthreads = 1\\n[finance]\\ncurrency = "EUR"\\n'
    '[sales]\\ncounted_statuses = ["done"]\\n'
)
settings = load_settings(folder / "settings.toml", environ={"ORDERMART_VAULT__KEY_FILE": "keys.json"})
order = {field.name: [] if field.name in ("items", "deliveries") else None for field in ORDER.fields}
del order["service_charge"]
order |= dict(status="done", subtotal_price=7, delivery_price=2, tip=0, discount=1, loyalty_discount=0, total_price=8)

def land(order_id, day, **fields):
    body = json.dumps(order | {"id": order_id, "created_at": f"{day}T10:00:00Z"} | fields).encode()
    with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
        load.validate(body, order_id)
        load.commit()

def night():
    closing.build_and_record(settings)
    publish(settings)

def rows(select):
    with duckdb.connect(str(settings.data_dir / "published/current/ordermart.duckdb"), read_only=True) as con:
        return con.execute(select).fetchall()

def close(day):
    closing.close(settings, one_day(day), None, exceptions="the test closes what it has")
    return [entry for entry in ledger_of(settings.data_dir).entries() if entry.act == "closed"][-1]

land(7, "2026-01-20", service_charge=1.5, total_price=9.5)
land(8, "2026-01-21")
land(9, "2026-01-22", service_charge=None)
night()
verdicts = "select order_id, verdict, total_residual::varchar from mart.order_reconciliation order by 1"
found = {"verdicts": rows(verdicts)}
if is_whole:
    with open_release(settings) as release:
        page = page_text(reconciliation(release, Selection.between(None, None, None)))
    closes = [close("2026-01-20"), close("2026-01-21")]
    night()
    land(7, "2026-01-20", service_charge=2.5, total_price=10.5)
    night()
    restated = rows("select measure, restatement_amount::varchar from mart.restatements order by all")
    closing.reopen(settings, dt.date(2026, 1, 20), None, "the charge changed")
    closes.append(close("2026-01-20"))
    night()
    make_pack(settings, one_day("2026-01-20"), folder / "pack")
    pack = subprocess.run([sys.executable, "-I", "verify.py"], cwd=folder / "pack", capture_output=True, text=True)
    table = folder / "pack" / "closes.csv"
    table.write_text(table.read_text().replace("2.5000", "2.6000"))
    forged = subprocess.run([sys.executable, "-I", "verify.py"], cwd=folder / "pack", capture_output=True, text=True)
    found |= {
        "explained": explain_order(settings, 7),
        "page": "service charge" in page,
        "restated": restated,
        "closes": [each.body["day_hashes"][0] for each in closes],
        "pack": [pack.returncode, pack.stdout, forged.returncode, forged.stdout],
        "sums": rows("select sum(service_charge)::varchar from mart.daily_store_sales"),
        "marts": rows(
            "select table_schema || '.' || table_name from information_schema.columns "
            "where column_name = 'service_charge' order by all"
        ),
    }
print(json.dumps(found))
"""


def added(project: Path, folder: Path, part_of: str) -> dict[str, Any]:
    """Return what a copy of the project finds in which an order has one more charge."""
    for name in ("pipelines", "sql"):
        shutil.copytree(project / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(project / "ordermart.toml", folder)
    insert(folder / "pipelines" / "landing" / "shape.py", ")\nTOTAL = ", CHARGE.format(part_of=part_of))
    insert(folder / "sql" / "glossary.sql", "-- sale_class ENUM", MEANING)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), "whole" if part_of else "build"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def insert(file: Path, before: str, lines: str) -> None:
    """Insert lines before the only place of a file that has a text."""
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, file
    file.write_text(text.replace(before, lines + before), encoding="utf-8")


@pytest.fixture(scope="module")
def outcome(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run nights of a copy of the project that knows a service charge as part of the total."""
    return added(project, tmp_path_factory.mktemp("charge"), "total")


@pytest.mark.slow
def test_an_added_charge_is_reconciled(outcome: dict[str, Any]) -> None:
    """The total balances with it, and without it for orders that lack it."""
    assert outcome["verdicts"] == [[number, "indeterminate", "0.0000"] for number in (7, 8, 9)]  # no lines


@pytest.mark.slow
def test_an_added_charge_is_explained_and_shown(outcome: dict[str, Any]) -> None:
    """The receipt has it in fields and formula, the page in its waterfall, and marts have a column of it."""
    text = "\n".join(outcome["explained"])
    assert "  service_charge" in text
    assert "+ service charge" in " ".join(text.split())
    assert outcome["page"]
    assert outcome["sums"] == [["2.5000"]]
    assert {"mart.orders", "mart.daily_store_sales", "mart.daily_reconciliations"} <= {
        name for (name,) in outcome["marts"]
    }


@pytest.mark.slow
def test_an_added_charge_is_closed(outcome: dict[str, Any]) -> None:
    """A change is a restatement of it and another hash; the hash of an order without it is that of before."""
    assert ["service_charge", "1.0000"] in outcome["restated"]
    first, without, second = outcome["closes"]
    assert first["rows_sha256"] != second["rows_sha256"]
    assert second["amounts"]["EUR"]["service_charge"] == "2.5000"
    pack, told, forged, difference = outcome["pack"]
    assert (pack, forged) == (0, 1), told
    assert "other orders or amounts than were closed" in difference
    assert "service_charge" not in without["amounts"]["EUR"]


@pytest.mark.slow
def test_a_charge_outside_the_total_is_no_part_of_the_formula(project: Path, tmp_path: Path) -> None:
    """The same order has a break if the charge is stated, but not part of the total."""
    assert added(project, tmp_path, "")["verdicts"][0] == [7, "total_break", "1.5000"]


def test_charges_are_the_money_of_an_order() -> None:
    """Each amount that the shape of an order states is in the list, in its order, or is the total."""
    money = [field.name for field in ORDER.leaves if field.leaf == "money"]
    assert money == [*(charge.name for charge in CHARGES), "total_price"] == list(PRICES)


def test_a_line_of_sql_stands_for_each_amount() -> None:
    """`$price` has a line for each amount, `$optional` one for each later charge, and there is none yet."""
    lines = expanded("select\n    a.$price as $price,\n    $optional,\nfrom a where b in ($prices)").split("\n")
    assert lines[1:-1] == [f"    a.{name} as {name}," for name in PRICES]
    assert lines[-1] == "from a where b in ({})".format(", ".join(f"'{name}'" for name in sorted(PRICES)))


def test_a_line_of_sql_stands_for_the_joins_of_closes() -> None:
    """`$closes_of` has the joins to the closes of a store and of every store, indented as it is."""
    lines = expanded("from days\n    $closes_of days\nwhere true").split("\n")
    assert (lines[0], lines[-1]) == ("from days", "where true")
    assert "    left join raw.day_closes as own" in lines
    assert "    left join raw.day_closes as every_store" in "\n".join(lines)
    assert any("and days.store_id = own.store_id and" in line for line in lines)


def test_hash_of_a_closed_order_is_that_of_the_first_release() -> None:
    """The hash of an order of the first charges never changes: closed days are verified by it for years."""
    row = dict.fromkeys(CLOSED_ORDERS.names) | {
        "order_id": 8, "store_id": 1, "business_date": dt.date(2026, 1, 21), "sale_class": "counted", "currency": "EUR",
        "tip": Decimal("2.5"), "total_price": Decimal("9.5"),
    }  # fmt: skip
    (day,) = day_hashes(pa.Table.from_pylist([row], schema=CLOSED_ORDERS))
    assert day["rows_sha256"] == "b620e13505d387d555ed679e1f784c719cf66b8650a9ad315e808369fe15ded5"
