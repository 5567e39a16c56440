"""The demo shows every part, and leaves a data folder and settings on which every other command works."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.listening import claimed
from tests import forked
from tests.readers import differences

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Ordermart = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# What no run leaves behind, and why.
EMPTY = {
    "audit.pending_restatements": "a run records what is pending in the ledger before it ends",
    "meta.models": "its settings name no tables of its own",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with settings of the user's own, those of the data folder and the port alone."""
    folder = tmp_path_factory.mktemp("demo")
    port = claimed("127.0.0.1")
    (folder / "mine.toml").write_text(
        f'[data]\ndir = "data"\n[partner]\nbase_url = "http://127.0.0.1:{port}"\n[notify]\nmin_free_gb = 0\n'
    )
    return folder


@pytest.fixture(scope="module")
def ordermart(folder: Path) -> Ordermart:
    """Give `ordermart(*arguments)`, with the user's own settings unless `config` names others."""

    def run(*arguments: str, config: str = "mine.toml") -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ORDERMART_PARTNER")}
        return forked.ordermart(("--config", str(folder / config), *arguments), environ, timeout=600)

    return run


@pytest.fixture(scope="module")
def played(ordermart: Ordermart, folder: Path) -> Path:
    """Play the four nights once; give the data folder."""
    refused = ordermart("demo", "--next-night")
    assert (refused.returncode, "there is no demo" in refused.stderr) == (2, True)
    first = ordermart("demo", "--orders", "700", "--stores", "3")
    assert first.returncode == 0, first.stdout + first.stderr
    assert [line.partition(",")[0] for line in first.stdout.splitlines()[:3]] == ["Night 1", "Night 2", "Night 3"]
    assert first.stderr.splitlines()[:2] == [
        "Starting the sandbox with 700 orders in 3 stores…",
        f"Writing to {folder / 'data'}",
    ]
    return folder / "data"


@pytest.fixture
def release(played: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the current release, opened."""
    with duckdb.connect(str(played / "published" / "current" / "ordermart.duckdb"), read_only=True) as db:
        yield db


def test_a_demo_of_an_earlier_version_is_refused(ordermart: Ordermart, tmp_path: Path) -> None:
    """Its world was another one, so its nights do not go on: a sentence says what to do."""
    (tmp_path / "data" / "sandbox").mkdir(parents=True)
    state = {"orders": 300, "stores": 4, "faults": 0.02, "now": "2026-10-28T03:15:00+00:00"}
    (tmp_path / "data" / "sandbox" / "world.json").write_text(json.dumps(state))
    config = tmp_path / "mine.toml"
    config.write_text('[data]\ndir = "data"\n')
    refused = ordermart("demo", config=str(config))
    assert (refused.returncode, "of an earlier version: remove it to begin again" in refused.stderr) == (2, True)


def test_no_table_is_empty(release: duckdb.DuckDBPyConnection) -> None:
    """Every table of the release has rows, but those that no run leaves any in."""
    names = release.execute(
        "select table_schema || '.' || table_name from information_schema.tables where table_type = 'BASE TABLE'"
    ).fetchall()
    counts = {name: release.execute(f"select count(*) from {name}").fetchone()[0] for (name,) in names}
    assert len(counts) > 85
    assert {name for name, count in counts.items() if not count} == set(EMPTY)


TIES = "count(*) filter (tie_out_status = 'tied') = 2 and count(*) filter (tie_out_status = 'variance') = 1"
SETTLED = "count(*) filter (settlement_state = 'settled')"
FAULTS = ["never_settled", "not_at_bank", "settled_twice", "wrong_commission"]
FIRST = "(select min(store_id) from core.stores)"


@pytest.mark.parametrize(
    ("what", "query"),
    [
        ("two control totals tie, one does not", f"select {TIES} from audit.control_totals"),
        ("a closed day is restated", "select count(*) > 0 from mart.restatements"),
        ("menus are seen before orders", "select count(*) > 0 from mart.price_variances where menu_match = 'unique'"),
        ("and after them", "select count(*) > 0 from mart.price_variances where menu_match = 'first_seen_later'"),
        ("prices change", "select count(*) > 5 from core.menu_price_versions where not is_current"),
        ("orders change", "select count(*) > 0 from core.order_changes"),
        ("a store is renamed", f"select count(distinct name) = 2 from core.store_versions where store_id = {FIRST}"),
        ("webhooks name orders", "select sum(notified_count) > 5 and min(stale_count) = 0 from audit.coverage"),
        ("an order is sent twice", "select count(*) >= 1 from audit.possible_duplicate_orders"),
        ("a phone number is corrected", "select count(*) = 1 from audit.personal_data_changes"),
        ("a store pauses", "select max(day_count) >= 2 from audit.inactive_periods"),
        ("statements settle most orders", f"select {SETTLED} > 20 from mart.order_settlements"),
        (
            "and have four faults",
            f"select list_sort(list(break_kind::varchar)) = {FAULTS} from audit.settlement_breaks",
        ),
        (
            "one payout is missing",
            "select count(*) = 1 from mart.payouts where payout_state = 'not_at_bank' and is_due",
        ),
        ("the world's time", "select max(last_observed_at) between '2026-10-30' and '2026-10-31' from audit.loads"),
    ],
)
def test_what_happens(release: duckdb.DuckDBPyConnection, what: str, query: str) -> None:
    """The four nights show a month as it goes."""
    assert release.execute(query).fetchone() == (True,), what


@pytest.mark.parametrize("reader", ["duckdb", "pandas", "pyarrow", "polars"])
def test_every_reader_reads_the_release(played: Path, reader: str) -> None:
    """Rows, exact sums and types of every table's Parquet are those of the DuckDB file."""
    assert list(differences((played / "published" / "current").resolve(), reader)) == []


def test_nights_are_remembered(played: Path) -> None:
    """Four runs and one page, which all are at the world's time."""
    runs = [json.loads(file.read_text()) for file in sorted((played / "runs").glob("*-night.json"))]
    assert [run["ended_at"][:10] for run in runs] == ["2026-10-02", "2026-10-23", "2026-10-29", "2026-10-30"]
    page = (played / "published" / "morning.html").read_text()
    assert all(text in page for text in ("Friday 30 October 2026", "4 settlements differ", "PO-000002", "18.00%"))


def test_other_commands_and_the_next_night(ordermart: Ordermart, played: Path) -> None:
    """On the demo's data build changes nothing, run and reconcile work; the next night has more orders."""
    config = str(played / "demo.toml")
    built = ordermart("build", config=config)
    assert (built.returncode, "unmapped" in built.stdout) == (0, False), built.stderr
    assert "tables changed" in built.stdout
    assert ordermart("reconcile", config=config).returncode == 3
    assert "Open breaks: 4" in (listed := ordermart("settlements", "list", config=config).stdout), listed
    assert "not at the bank, overdue" in ordermart("explain", "payout", "PO-000002", config=config).stdout
    status = ordermart("status", config=config)
    assert "2026-10-30" in status.stdout, status.stdout + status.stderr
    doctor = ordermart("doctor", config=config)
    assert doctor.returncode == 3, "its sandbox answers, at the demo's time" + doctor.stdout + doctor.stderr
    for part in ("service", "store list", "store", "menu", "order", "clock"):
        assert re.search(rf"^ok +{part}: ", doctor.stdout, re.MULTILINE), doctor.stdout
    run = ordermart("run", "--due", config=config)
    assert run.returncode == 0, run.stdout + run.stderr
    file = played / "published" / "current" / "ordermart.duckdb"
    count = "select count(*), max(cast(created_at as date))::varchar from mart.orders"
    with duckdb.connect(str(file), read_only=True) as db:
        before = db.execute(count).fetchone()
    later = ordermart("demo", "--next-night")
    assert later.returncode == 0, later.stdout + later.stderr
    with duckdb.connect(str(file), read_only=True) as db:
        assert db.execute(count).fetchone() > before


def test_the_commands_of_the_books_work_in_their_order(ordermart: Ordermart, played: Path, folder: Path) -> None:
    """Those of docs/BOOKS.md as they stand, with its mapping and its accounts; only KEY is named by the user.

    Statements of the iOS app name all of its orders but one, and one of nobody. Each entry balances; later ones reverse
    and correct.
    """
    guide = (forked.ROOT / "docs" / "BOOKS.md").read_text("utf-8")
    mapping, accounts = sorted(re.findall(r"```toml\n(.*?)```", guide, re.DOTALL), key=lambda text: "[[tax]]" in text)
    (folder / "dashline.toml").write_text(mapping.replace('["dashline"]', '["ios"]'), "utf-8")
    (folder / "accounts.toml").write_text(accounts, "utf-8")
    file = played / "published" / "current" / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as db:
        orders = db.execute(
            "select order_id, store_id, strftime(business_date, '%m/%d/%Y'), currency, total_price from mart.orders "
            "where platform = 'ios' and sale_class = 'counted' and total_price > 0 and business_date < '2026-10-21' "
            "order by all"
        ).fetchall()
    head = (
        "payout_id,type,client_order_id,merchant_store_id,transaction_date,currency,order_subtotal,commission,net_total"
    )
    rows = [*orders[1:], (1, orders[0][1], "10/10/2026", orders[0][3], Decimal("5.00"))]
    lines = [head, *(f"PO-000001,DELIVERY,{','.join(map(str, row))},0,{row[-1]}" for row in rows)]
    (folder / "october.csv").write_text("\n".join(lines), "utf-8")
    (folder / "corrected.csv").write_text("\n".join(lines[:-2] + lines[-1:]), "utf-8")
    paid = sum(row[-1] for row in rows)
    (folder / "bank.csv").write_text(f"Booking date,Amount,Remittance\n2026-10-22,{paid},PO-000001\n", "utf-8")
    environ = os.environ | {"ORDERMART_CONFIG": str(played / "demo.toml")}
    said = ""
    for block in re.findall(r"```\n(.*?)```", guide, re.DOTALL)[:2]:
        for line in block.splitlines():
            command, *words = shlex.split(line, comments=True)
            if "KEY" in words:
                found = re.findall(r"STOPPED .*, order (\d+):|^  (\S+:\S+): \w+, ", said, re.MULTILINE)
                words[words.index("KEY") : words.index("KEY") + 1] = {"".join(keys) for keys in found}
            done = forked.ordermart(tuple(words), environ, timeout=300, folder=folder)
            is_open = words[:2] == ["settlements", "list"] or words == ["journal", "--check"]
            assert (command, done.returncode) == ("ordermart", 3 * is_open), (line, done.stdout + done.stderr)
            said += done.stdout
    entries: dict[str, Decimal] = defaultdict(Decimal)
    for name in ("journal-2026-10-csv-1.csv", "journal-2026-11-csv-1.csv"):
        for row in csv.DictReader((folder / "journals" / name).read_text("utf-8").splitlines()):
            entries[row["entry_no"]] += Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
    assert set(entries.values()) == {0}
    for kind in ("-sales-", "-settlement-", "-bank-", "-writeoff-", "-reversal"):
        assert any(kind in number for number in entries), kind
