"""What CONTRIBUTING says of adding something is all that there is to do: a table, a column, a check, a field, a kind.

A field is declared once, in landing/shape.py, and a kind of document in seven files: all else is derived.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# `service_fee` gets a column as well, as CONTRIBUTING says; `gift_message` is in the shape alone.
SHAPE = """        Field("service_fee", "money", adds_to="order_money"),
        Field("gift_message", "text"),
"""
COLUMN = "    document.service_fee as service_fee,\n"
CONTRACT = "-- service_fee DECIMAL(18,4) null: The service fee, as sent.\n"
# A kind of document, in the files that CONTRIBUTING names: line before which, and what.
SCHEDULES: tuple[tuple[str, str, str], ...] = (
    ("pipelines/settings/kinds.py", '"orders"]', '"schedules", '),
    ("pipelines/settings/kinds.py", '"orders": "order"}', '"schedules": "schedule", '),
    ("pipelines/settings/setting_tables.py", "    order: Endpoint", "    schedule: Endpoint\n"),
    ("ordermart.toml", "[partner.order]", '[partner.schedule]\npath = "/schedules/{schedule_id}"\n\n'),
    (
        "pipelines/landing/shape.py",
        '"orders": ORDER}',
        '"schedules": Shape((Field("id", "integer", required=True), Field("opens", "text"))), ',
    ),
    ("sql/glossary.sql", "'stores'): What kind of document", "'schedules', "),
    (
        "pipelines/warehouse/catalogue/selects.py",
        '    "orders": {',
        '    "schedules": {"": Held("core.schedules", "schedule_id")},\n',
    ),
)
SCHEDULES_SQL = """-- One row per schedule.
--
-- Source: schedules as last observed.
--
-- key: schedule_id
-- scope: schedule
--
-- schedule_id BIGINT: The schedule.
-- opens VARCHAR null: When a store opens.
select schedule_id, document.opens as opens, _fetched_at, from raw.latest_schedules
"""
# A table as CONTRIBUTING shows it, another column of it, and a check: a file each.
TABLE = re.compile(r"   ```sql\n(   -- One row per .*?)   ```\n", re.DOTALL)
NEW_TABLE = "sql/mart/new_table.sql"
MOST = "    max(tip) as most_tip,\n"
MOST_SAID = "-- most_tip DECIMAL(18,4) null: The greatest tip.\n"
CHECK = """-- Nobody orders on a Friday.
-- severity: warning
select store_id as entity_id, 'weekday ' || weekday as location from mart.new_table where weekday = 5
"""
SCRIPT = """
import json, sys
from pathlib import Path
import duckdb
from pipelines.landing.load import Load
from pipelines.landing.shape import ORDER
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.warehouse.building.build import build
from pipelines.warehouse.building.build import warehouse_file

folder = Path(sys.argv[1])
new_key_file(folder / "keys.json")
(folder / "settings.toml").write_text('[data]\\ndir = "data"\\n[warehouse]\\nthreads = 1\\n')
settings = load_settings(folder / "settings.toml", environ={"ORDERMART_VAULT__KEY_FILE": "keys.json"})
order = {field.name: [] if field.name in ("items", "deliveries") else None for field in ORDER.fields}
order |= {"id": 7, "created_at": "2026-11-20T10:00:00Z", "total_price": 5.00, "gift_message": "Hello", "tip": 0}

def land(**fields):
    body = json.dumps(order | fields).encode()
    with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
        load.validate(body, 7)
        load.commit()

def rows(select):
    with duckdb.connect(str(warehouse_file(settings.data_dir)), read_only=True) as con:
        return con.execute(select).fetchall()

def land_schedule(opens):
    with open_vault(settings) as vault, Load(settings, vault, "schedules") as load:
        load.validate(json.dumps({"id": 5, "opens": opens}).encode(), 5)
        load.commit()

SCHEDULES = "select schedule_id, opens from core.schedules"
CHANGES = "select version_no, field, old_value, new_value from core.order_changes order by all"
land(service_fee=1.5)
land_schedule("08:00")
build(settings)
schedules = rows(SCHEDULES)
land(service_fee=2.5, gift_message="Bye")
land_schedule("09:00")
increment = build(settings)
changes = rows(CHANGES)
schedules += rows(SCHEDULES)
full = build(settings, full=True)
print(json.dumps({
    "full": [increment.full, full.full],
    "changes": changes,
    "rebuilt": rows(CHANGES),
    "schedules": schedules + rows(SCHEDULES),
    "table": rows("select order_count, last_order_day::varchar, most_tip::varchar from mart.new_table"),
    "said": rows("select comment from duckdb_columns() where table_name = 'new_table' order by column_index"),
    "findings": rows("select location from audit.findings where table_name = 'mart.new_table'"),
    "fields": rows("select path, present_count from audit.field_profile where kind = 'schedules' order by all"),
    "profile": rows("select path, is_documented, present_count, max_value::varchar from audit.field_profile"),
}))
"""


def insert(file: Path, before: str, lines: str) -> None:
    """Insert lines before the only place of a file that has a text."""
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, file
    file.write_text(text.replace(before, lines + before), encoding="utf-8")


@pytest.fixture(scope="module")
def outcome(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run ingestion and builds of a copy of the project in which an order has two more documented fields."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pipelines", "sql"):
        shutil.copytree(project / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(project / "ordermart.toml", copy)
    insert(copy / "pipelines" / "landing" / "shape.py", '    ArrayField("items", _ITEM, "lines"),\n', SHAPE)
    insert(copy / "sql" / "core" / "orders.sql", "    document.$price as $price,\n", COLUMN)
    insert(copy / "sql" / "core" / "orders.sql", "-- has_user_phone ", CONTRACT)
    for name, before, lines in SCHEDULES:
        insert(copy / name, before, lines)
    (copy / "sql" / "core" / "schedules.sql").write_text(SCHEDULES_SQL, encoding="utf-8")
    (table,) = TABLE.findall((project / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (copy / NEW_TABLE).write_text(textwrap.dedent(table), encoding="utf-8")
    insert(copy / NEW_TABLE, "from mart.orders", MOST)
    insert(copy / NEW_TABLE, "select\n", MOST_SAID)
    (copy / "sql" / "checks" / "mart.new_table__has_no_friday.sql").write_text(CHECK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(copy)],
        cwd=copy,
        env={"PYTHONPATH": str(copy), "PATH": "", "HOME": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_new_field_is_compared_between_versions(outcome: dict[str, Any]) -> None:
    """A field with a column has its old and new values, from an increment as from a full build."""
    assert outcome["full"] == [False, True]
    assert outcome["changes"] == [[2, "service_fee", "1.5000", "2.5000"]]
    assert outcome["rebuilt"] == outcome["changes"]


@pytest.mark.slow
def test_a_new_field_is_profiled(outcome: dict[str, Any]) -> None:
    """A field with a column is measured; one without is accepted, and is not an unknown field."""
    profile = {path: rest for path, *rest in outcome["profile"]}
    assert profile["/service_fee"] == [True, 1, "2.5000"]
    assert "/gift_message" not in profile
    assert all(is_documented for is_documented, *_ in profile.values())


@pytest.mark.slow
def test_a_new_table_is_one_file(outcome: dict[str, Any]) -> None:
    """The table that CONTRIBUTING shows, with one more column and a check, is built, checked and described."""
    assert outcome["table"] == [[1, "2026-11-20", "0.0000"]]
    assert [text for (text,) in outcome["said"]][-2:] == [
        "The last business day with such an order.",
        "The greatest tip.",
    ]
    assert outcome["findings"] == [["weekday 5"]]


@pytest.mark.slow
def test_a_new_kind_is_built_and_profiled(outcome: dict[str, Any]) -> None:
    """Documents of a kind that seven files declare are in a full build, an increment and a rebuild, and profiled."""
    assert outcome["schedules"] == [[5, "08:00"], [5, "09:00"], [5, "09:00"]]
    assert outcome["fields"] == [["/id", 1], ["/opens", 1]]
    assert len({name for name, *_ in SCHEDULES} | {"sql/core/schedules.sql"}) == 7
