"""A file of models becomes a table of the release, with the promises of a built-in one."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest
from pandera.errors import SchemaError

from pipelines.read import connect, schema
from pipelines.report.status import status
from pipelines.warehouse.own import check_models
from pipelines.warehouse.storage import bytes_in_spill, spill_folder
from pipelines.warehouse.verify import verify_all
from tests.own.conftest import MODELS, write
from tests.privacy.conftest import BOB, person

if TYPE_CHECKING:
    from tests.privacy.conftest import World

PROBLEMS = "select model_name, problem from meta.models where problem is not null order by all"


@pytest.mark.slow
def test_own_table_is_in_the_release_like_any_other(first: World) -> None:
    """In the file with comments, as Parquet, in meta with types taken from DuckDB, in the contract and the manifest."""
    assert first.rows("select order_count, total_price from own.weekly") == [(3, Decimal("40.5000"))]
    assert first.rows("from own.total") == [(Decimal("40.5000"),)]
    tables = first.rows("select table_name, grain, row_count from meta.tables where table_name like 'own.%' order by 1")
    assert [row[0] for row in tables] == sorted(f"own.{name}" for name in MODELS)
    assert tables[-1] == ("own.weekly", "One row per week and currency with orders.", 1)
    columns = first.rows(
        "select column_name, data_type, is_key, description from meta.columns where table_name = 'own.weekly'"
    )
    assert columns[0] == ("week", "DATE", True, "The Monday.")
    assert columns[3][:2] == ("total_price", "DECIMAL(38,4)")
    comments = first.rows("select comment from duckdb_columns() where schema_name = 'own' and column_name = 'week'")
    assert comments == [("The Monday.",)]
    release = first.data / "published" / "current"
    with duckdb.connect() as con:
        assert con.execute(f"select order_count from '{release}/parquet/own/weekly/*.parquet'").fetchall() == [(3,)]
    assert "own.weekly" in (release / "contract.odcs.yaml").read_text("utf-8")
    manifest = json.loads((release / "manifest.json").read_text("utf-8"))
    assert manifest["rows"]["own.weekly"] == 1
    assert any(file["table"] == "own.weekly" for file in manifest["files"])


@pytest.mark.slow
def test_release_says_where_to_start(first: World) -> None:
    """A browser of the file finds a view that names each schema that has tables, mart first; so do meta and ref."""
    schemas = [row[0] for row in first.rows("select schema_name from start_here")]
    assert schemas[0] == "mart"
    with_tables = "select distinct schema_name from duckdb_tables()"
    assert set(schemas) >= {row[0] for row in first.rows(with_tables)}
    said = first.rows("select comment from duckdb_views() where view_name = 'start_here'")
    assert "start with mart" in said[0][0]
    listed = "select schema_name || '.' || table_name from duckdb_tables() except select table_name from meta.tables"
    assert first.rows(listed) == []


@pytest.mark.slow
def test_only_what_changed_is_made_again(own: World) -> None:
    """A changed model, and what reads it; a release without other orders links the files of the rest."""

    def made() -> dict[str, str]:
        return dict(own.rows("select model_name, made_at::varchar from meta.models"))

    own.publish()
    before = made()
    write(own, "weekly", MODELS["weekly"].replace("sum(total_price)", "sum(total_price) + 1"))
    own.publish()
    after = made()
    assert {name for name in after if after[name] != before[name]} == {"own.weekly", "own.total"}
    assert own.rows("from own.total") == [(Decimal("41.5000"),)]
    changes = own.rows("select table_name, added_row_count, removed_row_count, changed_row_count from meta.changes")
    assert sorted(changes) == [("own.total", 1, 1, 0), ("own.weekly", 0, 0, 1)]


_HEAD = "-- One row.\n"
_KEYLESS = f"{_HEAD}--\n-- key: none\n--\n-- a BIGINT: It.\n"
WRONG = {
    "audit": (f"{_HEAD}select * from audit.loads", "reads audit.loads, which is not a table"),
    "capitals": (f"{_HEAD}select order_id from Mart.Orders", "reads Mart.Orders, which is not a table"),
    "file": (f"{_HEAD}select * from read_text('/etc/hostname')", "calls read_text"),
    "path": (f"{_HEAD}select * from '/etc/hostname'", "reads /etc/hostname: write its schema"),
    "engine": (f"{_HEAD}select current_setting('memory_limit') as a", "is about the engine or files"),
    "clock": (f"{_HEAD}select now() as a", "rows would depend on when it runs"),
    "today": (f"{_HEAD}select current_date as a from mart.orders", "rows would depend on when it runs"),
    "stamp": (f"{_HEAD}select localtimestamp as a", "rows would depend on when it runs"),
    "ago": (f"{_HEAD}select ago(interval 1 day) as a", "counts from now"),
    "age": (f"{_HEAD}select age(created_at) as a from mart.orders", "counts from now"),
    "sample": (f"{_HEAD}select order_id as a from mart.orders using sample 50%", "takes a sample"),
    "tablesample": (f"{_HEAD}select order_id as a from mart.orders tablesample 2", "takes a sample"),
    "limit": (f"{_HEAD}select a from (select order_id as a from mart.orders limit 2)", "a limit without an order"),
    "share": (f"{_HEAD}select order_id as a from mart.orders limit 50%", "a limit without an order"),
    "ties": (f"{_HEAD}select order_id as a from mart.orders order by currency limit 1", "in another order"),
    "first": (f"{_HEAD}select first(order_id) as a from mart.orders", "in another order"),
    "number": (f"{_HEAD}select order_id, row_number() over () as a from mart.orders", "in another order"),
    "list": (f"{_HEAD}select string_agg(order_id::varchar) as a from mart.orders", "in another order"),
    "on": (f"{_HEAD}select distinct on (currency) order_id as a from mart.orders", "in another order"),
    "zero": (f"{_HEAD}select order_id / 0 as a from mart.orders", "a is infinite or not a number"),
    "nan": (f"{_HEAD}select [(order_id - order_id) / 0] as a from mart.orders", "a is infinite or not a number"),
    "never": (f"{_HEAD}select 'infinity'::timestamptz as a", "a is infinite or not a number"),
    "copy": (f"{_HEAD}copy core.orders to '/tmp/a.csv'", "not one select"),
    "two": (f"{_HEAD}select 1 as a; drop table core.orders", "not one select"),
    "column": (f"{_HEAD}select nothing from mart.orders", r"Binder Error.*Candidate bindings.* \(line 2\)"),
    "syntax": (f"{_HEAD}select\nfrom where", r"syntax error.* \(line 3\)"),
    "nowhere": (f"{_HEAD}select a from own.of_no_file", "which no file makes"),
    "itself": (f"{_HEAD}select a from own.itself", "reads itself: own.itself < own.itself"),
    "headless": ("select 1 as a", "first line must state the grain"),
    "cast": (f"{_HEAD}select cast(status as integer) as a from mart.orders", "Conversion Error"),
    "large": (f"{_HEAD}select repeat('x', 3000000000) as a", "more memory|its process ended"),
    "slow": (f"{_HEAD}select count(*) as a from range(1000000) as a, range(1000000) as b", "takes longer than"),
    "twice": (f"{_HEAD}--\n-- key: store_id\nselect store_id from mart.orders", "its key .* is not unique"),
    "null": (f"{_KEYLESS}select null::bigint as a", "a is null or out of its"),
    "type": (f"{_KEYLESS}select 1 as a", "a is INTEGER, and the head says BIGINT"),
    "fact": (f"{_HEAD}--\n-- released: no\nselect 1 as a", "is not a fact of a model|head names released"),
}  # fmt: skip

READ = ("audit", "column", "zero")  # of other models


@pytest.mark.slow
def test_wrong_model_costs_itself_alone(own: World) -> None:
    """Whatever is wrong with it: it is named, its last rows stay with their time, and everything else is published."""
    for name in WRONG:
        write(own, name, f"{_HEAD}select 7 as a")
    for name in READ:
        write(own, f"reads_{name}", f"{_HEAD}select a from own.{name}")
    own.publish()
    for name, (text, _) in WRONG.items():
        write(own, name, text)
    with own.file.open("a", encoding="utf-8") as file:
        file.write("[models]\nseconds = 3\nmemory_mib = 256\n")
    own.land("orders", [person(5, BOB)])
    own.publish()
    problems = dict(own.rows(PROBLEMS))
    for name, (_, why) in WRONG.items():
        assert re.search(why, problems[f"own.{name}"]), (name, problems[f"own.{name}"])
        assert own.rows(f"select a from own.{name}") == [(7,)]
    for name in READ:
        assert problems[f"own.reads_{name}"] == f"it reads own.{name}, which is wrong"
    assert len(problems) == len(WRONG) + len(READ)
    query = "select comment from duckdb_tables() where schema_name = 'own' and table_name = 'slow'"
    assert own.rows(query)[0][0].startswith("Rows of 20")
    assert own.rows("select sum(order_count) from own.daily") == [(4,)]
    assert own.rows("select count(*) from core.orders") == [(4,)]


@pytest.mark.slow
def test_models_check_runs_what_a_build_runs(own: World) -> None:
    """A row of years ago counts; what multiplies rows is warned of, with the largest input; sums of parts are alike."""
    write(
        own,
        "cross",
        f"{_HEAD}select 1 as a from mart.orders as a, mart.orders as b, mart.orders as c, mart.orders as d",
    )
    old = "case when business_date = (select min(business_date) from mart.orders) then 0 else 1 end"
    write(own, "old", f"{_HEAD}select order_id / {old} as a from mart.orders")
    write(own, "spread", f"{_HEAD}select stddev(total_price) as a, avg(order_id / 3) as b from mart.orders")
    own.publish()
    tried = {each.name: each for each in check_models(own.settings)}
    released = dict(own.rows("select model_name, coalesce(problem, '') from meta.models"))
    assert {name: each.wrong for name, each in tried.items()} == released
    assert {name for name, why in released.items() if why} == {"own.old"}
    why = "has over 10 times the 3 rows of its largest input, as of a join without a condition"
    assert f"warning: {why}: 81 rows" in tried["own.cross"].said
    assert own.rows("select warnings from meta.models where model_name = 'own.cross'") == [([f"{why}: 81"],)]


@pytest.mark.slow
def test_verify_makes_own_tables_again(own: World) -> None:
    """A row of the release that its model does not give is a difference."""
    own.publish()
    assert {"own.weekly", "own.daily"} <= verify_all(own.settings).tables
    file = (own.data / "published" / "current" / "ordermart.duckdb").resolve()
    file.chmod(0o644)
    with duckdb.connect(str(file)) as con:
        con.execute("update own.weekly set order_count = 4")
    assert [each.table for each in verify_all(own.settings).differences] == ["own.weekly"]


@pytest.mark.slow
def test_circle_renamed_and_removed_models(own: World) -> None:
    """What reads itself by another is named; a renamed model is another table, and the old one is gone."""
    write(own, "a", "-- One row.\nselect b from own.b")
    write(own, "b", "-- One row.\nselect a as b from own.a")
    path = write(own, "total", MODELS["total"])
    path.rename(path.with_name("sum_of_weeks.sql"))
    own.publish()
    problems = dict(own.rows(PROBLEMS))
    assert problems.keys() == {"own.a", "own.b"}
    assert all(each.startswith("reads itself: own.") for each in problems.values())
    names = {row[0] for row in own.rows("select table_name from meta.tables where table_name like 'own.%'")}
    assert names == {"own.weekly", "own.daily", "own.by_order", "own.sum_of_weeks"}


@pytest.mark.slow
def test_checks_block_their_own_table_or_warn(own: World) -> None:
    """A blocking check keeps the last rows; one that warns is counted; examples are examples of the release."""
    write(
        own,
        "checks/daily__has_no_lone_order",
        "-- No lone order.\n-- severity: warning\nfrom own.daily where order_count = 1",
    )
    write(
        own,
        "checks/weekly__is_small",
        "-- Small.\n-- severity: blocking\nselect 1 as a from own.weekly where order_count > 3",
    )
    write(own, "examples/1_days", "-- How many days are there?\nselect count(*) as days from own.daily")
    own.publish()
    assert own.rows("select warnings from meta.models where model_name = 'own.daily'") == [
        (["daily__has_no_lone_order: 3"],)
    ]
    ((question, query),) = own.rows("select question, query from meta.examples order by example_no desc limit 1")
    assert question == "How many days are there?"
    assert own.rows(query) == [(3,)], "as a reader runs it on the release"
    own.land("orders", [person(4, BOB)])
    own.publish()
    assert dict(own.rows(PROBLEMS)) == {
        "own.weekly": "check weekly__is_small finds 1 rows",
        "own.total": "it reads own.weekly, which is wrong",
    }
    assert own.rows("select order_count from own.weekly") == [(3,)]
    assert own.rows("select sum(order_count) from own.daily") == [(4,)]


@pytest.mark.slow
def test_an_own_table_has_a_schema(first: World) -> None:
    """A model's table is validated by its head, as a built-in one is; a key that repeats is found."""
    data = first.settings.data_dir
    with connect(data) as con:
        weekly = con.sql("from own.weekly").arrow().read_all().to_pandas(types_mapper=pd.ArrowDtype)
    assert len(schema("own.weekly", data).validate(weekly)) == len(weekly) > 0
    with pytest.raises(SchemaError, match=r"own\.weekly__has_a_unique_key"):
        schema("own.weekly", data).validate(pd.concat([weekly, weekly], ignore_index=True))


@pytest.mark.slow
def test_spilled_files_are_bounded_and_do_not_stay(own: World) -> None:
    """A model that sorts more than its disk takes costs itself; what a killed process left is named, then removed."""
    left = own.data / "warehouse" / "spill" / "tmpkilled"
    left.mkdir(parents=True)
    (left / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"x" * 2_000_000)
    old = left.with_name("duckdb_temp_storage_S64K-0.tmp")  # of a release before processes had folders
    old.write_bytes(b"x" * 1_000_000)
    assert status(own.settings)["spilled_bytes"] == bytes_in_spill(own.data) == 3_000_000
    wide = f"select {', '.join(f'hash(range + {n}) as h{n}' for n in range(4))} from range(6000000)"
    write(
        own,
        "large",
        f"{_HEAD}with x as materialized ({wide}) select count(*) filter (where h0 <> h1 and h2 <> h3) as a from x",
    )
    with own.file.open("a", encoding="utf-8") as file:
        file.write("[models]\nmemory_mib = 96\ndisk_mib = 32\n")
    with spill_folder(own.data) as held:
        own.publish()
        assert held.is_dir()
    assert "disk_mib" in dict(own.rows(PROBLEMS))["own.large"]
    assert list(left.parent.iterdir()) == []
