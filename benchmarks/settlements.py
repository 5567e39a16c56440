"""Measure 100,000 rows of a statement: imported, matched with orders, checked, exported as a journal. CPU seconds.

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

from benchmarks.closing import write_current
from pipelines.finance import closing
from pipelines.finance.exporting import export
from pipelines.finance.released import period_of
from pipelines.ledger import User
from pipelines.settings import load_settings
from pipelines.vault.bodies import new_key_file
from pipelines.warehouse import catalogue
from tests.settlements import statements
from tests.settlements.conftest import Books

MOST_SECONDS = 10
ROWS = 100_000
RULE = "observed"
PARTS = "subtotal_price delivery_price tip".split()
OF_ORDERS = {
    "core.orders": "order_id, md5(order_id::varchar) as _payload_sha256",
    "mart.order_reconciliation": f"*, '{RULE}' as total_rule, total_price as formula_total, 0 as total_residual",
    "audit.order_rules": f"order_id, '{RULE}' as total_rule, [] as line_open_parts",
}
BOOKS = """
    select 'P10' as period, store_id, sale_class, currency, measure, sum(amount) as total_amount
    from (
        select *, unnest(['total_price', 'subtotal_price', 'delivery_price', 'tip']) as measure,
            unnest([total_price, subtotal_price, delivery_price, tip]) as amount
        from mart.orders
    ) group by all
"""
ACCOUNTS = [*PARTS, "receivable", "clearing", "unmatched", "commission"]


def journal(folder: Path, con: duckdb.DuckDBPyConnection) -> float:
    """Close all orders of a release with these tables; return what the export of their journal takes."""
    (folder / "periods.csv").write_text("period,first_day,last_day\nP10,2026-09-27,2026-11-01\n", encoding="utf-8")
    settings_file, accounts = folder / "ordermart.toml", folder / "accounts.toml"
    settings_file.write_text(
        '[sales]\ncounted_statuses = ["done"]\n[vault]\nkey_file = "keys"\n[closing]\nperiods_file = "periods.csv"\n'
    )
    lines = "".join(f'{name} = "{number}"\n' for number, name in enumerate(ACCOUNTS, 1000))
    accounts.write_text(f"[accounts]\n{lines}", encoding="utf-8")
    new_key_file(folder / "keys")
    settings = load_settings(settings_file, {})
    release = settings.data_dir / "published" / "releases" / "made"
    release.mkdir(parents=True)
    con.execute(f"attach '{release / 'ordermart.duckdb'}' as release")
    for schema in catalogue.SCHEMAS:
        con.execute(f"create schema release.{schema}")
    made = {name for (name,) in con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()}
    for table in catalogue.tables():
        columns = ", ".join(f"{each.name} {each.type}" for each in table.columns)
        con.execute(f"create table release.{table.name} ({columns})")
        if table.name in made:
            con.execute(f"insert into release.{table.name} by name from {table.name}")
    for name, chosen in OF_ORDERS.items():
        con.execute(f"create temp table chosen as select {chosen} from mart.orders")
        known = {column for column, *_ in con.execute("describe chosen").fetchall()}
        own = ", ".join(each.name for each in catalogue.table(name).columns if each.name in known)
        con.execute(f"insert into release.{name} by name select {own} from chosen")
        con.execute("drop table chosen")
    con.execute(
        "insert into release.audit.formula_rules by name "
        f"select 'total' as rule_target, '{RULE}' as rule, [1, 1, 1, -1, -1] as rule_parameters"
    )
    con.execute(f"insert into release.mart.period_books by name {BOOKS}")
    con.execute("detach release")
    write_current(settings, release)
    period = period_of(settings, "P10")
    closing.close(settings, period, exceptions="a benchmark")
    started = time.process_time()
    done = export(settings, period, accounts, "csv", folder / "out", draft=False, left_out=(), user=User(1))
    took = time.process_time() - started
    print(f"{done.new_count:,} entries of {sum(len(each.lines) for each in done.journal.entries):,} lines")
    assert (bool(done.files), done.journal.stops) == (True, {})
    return took


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
        took["journal"] = journal(Path(folder), con)
    for step, seconds in took.items():
        print(f"{step} {seconds:.1f} s of CPU")
    assert max(took.values()) <= MOST_SECONDS


if __name__ == "__main__":
    main()
