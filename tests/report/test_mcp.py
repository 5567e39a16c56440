"""The MCP server: a real client over standard input and output, and the limits of a query."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import duckdb
import pytest

from pipelines import cli
from pipelines.finance.released import FinanceError, ReadLimits, open_release
from pipelines.read import NoReleaseError
from pipelines.report.explain import explain_order
from pipelines.report.mcp_server import MIB, Limits, Tools
from pipelines.settings import load_settings
from pipelines.warehouse.limited import MAX_ANSWER, QueryError, opened
from tests.canaries import Marks

if TYPE_CHECKING:
    from conftest import World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = "select count(*) from range(1000000000) as a, range(1000000000) as b where a.range + b.range < 0"


def test_mcp_client_over_stdio_reads_the_release(world: World, canaries: tuple[str, ...]) -> None:
    """Every tool answers without the vault's keys: exact amounts as text, errors as sentences, no personal value."""
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 -- takes a second, in each worker

    texts: list[str] = []

    async def session() -> dict[str, Any]:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "pipelines.cli", "mcp", "--config", str(world.file), "--timeout-seconds", "240"],
            env=world.environ | {"ORDERMART_VAULT__KEY_FILE": str(world.folder / "no-keys.json")},
            cwd=ROOT,
        )
        async with Client(parameters) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                texts.append(result.model_dump_json())
                assert result.structured_content or result.is_error
                return result.structured_content or result.content[0].text

            tools = (await client.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            return {
                "tables": await call("list_tables"),
                "table": await call("describe_table", table_name="mart.orders"),
                "no table": await call("describe_table", table_name="mart.'orders"),
                "examples": await call("list_examples", search="mart.daily_store_sales"),
                "rows": await call("query", sql="from mart.orders order by total_price desc", max_rows=1),
                "drop": await call("query", sql="drop table core.orders"),
                "two": await call("query", sql="select 1; select 2"),
                "receipt": await call("explain_order", order_id=13),
                "no order": await call("explain_order", order_id=99),
                "coverage": await call("query", sql="from audit.coverage where store_id = 3 order by business_date"),
                "questions": await call("open_questions"),
            }

    found = anyio.run(session)
    assert {"mart.orders", "meta.examples"} <= {table["table_name"] for table in found["tables"]["tables"]}
    assert any(each["subject"] for each in found["tables"]["not_available"])
    assert "sale_class" in {column["column_name"] for column in found["table"]["columns"]}
    assert "there is no table mart.'orders" in found["no table"]
    assert found["examples"]["examples"]
    assert all("mart.daily_store_sales" in each["table_names"] for each in found["examples"]["examples"])
    names = [column["name"] for column in found["rows"]["columns"]]
    (row,) = found["rows"]["rows"]
    assert dict(zip(names, row, strict=True))["total_price"] == "98765432109876.5469"  # a float keeps fewer digits
    assert found["rows"]["is_truncated"] is True
    assert found["rows"]["release_id"] == (world.settings.data_dir / "published" / "current").resolve().name
    assert "only one SELECT statement is allowed; found: DROP" in found["drop"]
    assert "found: SELECT, SELECT" in found["two"]
    assert "27.51" in found["receipt"]["result"]
    assert "order 99 is not in the current release" in found["no order"]
    assert found["coverage"]["rows"]
    assert "not shown by the interface" in found["questions"]["result"]
    assert not Marks(*canaries).in_bytes("".join(texts).encode())


def test_duckdb_refuses_all_but_reading_the_release(world: World) -> None:
    """Writing, other files, the vault, the network, extensions and settings are refused by DuckDB itself."""
    release = world.settings.data_dir / "published" / "current" / "ordermart.duckdb"
    vault = next(path for path in (world.settings.data_dir / "vault").rglob("*") if path.is_file())
    with opened(database=str(release.resolve()), memory_bytes=256 * MIB) as con:
        for statement in (
            "insert into core.orders (order_id) values (1)",
            "create table core.mine as select 1",
            "drop table core.orders",
            f"select * from read_text('{world.keys}')",
            f"select * from read_blob('{vault}')",
            f"select * from glob('{world.folder}/*')",
            f"attach '{vault}' as vault",
            f"copy core.orders to '{world.folder}/copy.csv'",
            "select * from read_csv('http://127.0.0.1:9/')",
            "load sqlite",
            "install sqlite",
            "set enable_external_access = true",
            "set memory_limit = '100GB'",
            "reset lock_configuration",
            "select * from world",  # a variable of this function
        ):
            with pytest.raises(duckdb.Error):
                con.execute(statement)
        assert con.execute("select count(*) > 0 from core.orders").fetchone() == (True,)


@pytest.mark.parametrize(
    ("sql", "limits", "message"),
    [
        (ENDLESS, Limits(seconds=0.5), "took longer than 0.5 seconds"),
        # one value, which DuckDB neither counts nor interrupts
        ("select length(repeat('x', 2000000000))", Limits(seconds=240, memory_mib=64), "needs more than its 64 MiB"),
        ("select list(range) from range(100000000)", Limits(seconds=240, memory_mib=64), "needs more than its 64 MiB"),
    ],
)
def test_query_beyond_a_limit_is_an_error(world: World, sql: str, limits: Limits, message: str) -> None:
    """A query ends at its limit of time or memory with a sentence, and the next one works."""
    queries = Tools(world.settings, limits)
    with pytest.raises(QueryError, match=message):
        queries.query(sql)


@pytest.mark.parametrize(
    ("sql", "limits", "message"),
    [
        (ENDLESS, ReadLimits(dt.timedelta(seconds=0.2), memory_mib=256), "took longer than 0.2 seconds"),
        (
            "select list(range) from range(100000000)",
            ReadLimits(dt.timedelta(minutes=4), memory_mib=64),
            "more than 64 MiB",
        ),
    ],
)
def test_other_tools_read_within_the_same_limits(world: World, sql: str, limits: ReadLimits, message: str) -> None:
    """What explains an order and lists questions reads a release that ends its selects, each in its turn."""
    with pytest.raises(FinanceError, match=message), open_release(world.settings, limits) as release:
        release.con.execute(sql)
    assert explain_order(world.settings, 13, ReadLimits(dt.timedelta(minutes=4), memory_mib=256))


@pytest.mark.parametrize(
    "sql",
    [
        "pragma database_list",
        "with a as (from query_table('duckdb_databases')) from a",
        *(
            pytest.param(sql, marks=pytest.mark.slow)
            for sql in (
                "select * from duckdb_settings()",
                'select (select max(path) from "DuckDB_Databases"())',
                "from pragma_database_list()",
                "from duckdb_databases",
                "select current_setting('memory_limit')",
                "from query('from duckdb_settings()')",
                "from json_execute_serialized_sql(json_serialize_sql('from duckdb_settings()'))",
                "select * from duckdb_secrets()",
                "from pg_catalog.pg_settings",
                "from enable_profiling()",
                "from enable_logging(storage = 'file')",
                "from which_secret('s3://a', 's3')",
                "from dbgen(sf = 1)",
                "from histogram_values(pg_settings, setting)",
            )
        ),
    ],
)
def test_query_about_the_engine_is_refused(world: World, sql: str) -> None:
    """Neither settings nor the path of the file are shown, whichever way they are asked for."""
    with pytest.raises(QueryError, match=r"only one SELECT|is refused"):
        Tools(world.settings, Limits(seconds=240)).query(sql)


def test_limit_of_answers_counts_names(world: World) -> None:
    """A column name of 200 KB, and types and errors as long, are no way past the limit."""
    queries = Tools(world.settings, Limits(seconds=240))
    with pytest.raises(QueryError, match="names and types of the columns have"):
        queries.query(f'select 1 as "{"n" * 200_000}"')
    fields = ", ".join(f"'field_{n}': 1" for n in range(5_000))
    assert len(json.dumps(queries.query(f"select {{{fields}}} as s"))) < MAX_ANSWER + 20_000
    with pytest.raises(QueryError) as error:
        queries.query(f'select "{"n" * 200_000}" from core.orders')
    assert len(str(error.value)) < 20_000


def test_query_answer_is_limited_in_size(world: World) -> None:
    """Rows, characters of a value and of the answer are limited; the server's limit of rows wins."""
    queries = Tools(world.settings, Limits(seconds=240, max_rows=5))
    answer = queries.query("select range as n, 2::hugeint ** 100 as big from range(9)", max_rows=100)
    assert [row[0] for row in answer["rows"]] == [0, 1, 2, 3, 4]
    assert answer["is_truncated"] is True
    long = queries.query("select repeat('x', 50000) as text from range(3)")
    assert long["rows"][0][0].endswith("… (50,000 characters)")
    wide = Tools(world.settings, Limits(seconds=240)).query("select repeat('x', 9000) as text from range(90)")
    assert len(json.dumps(wide["rows"])) <= MAX_ANSWER + 1_000
    assert wide["is_truncated"] is True


def test_mcp_without_a_release_says_what_to_run(tmp_path: Path) -> None:
    """Before the first release a query is an error that names the command."""
    (tmp_path / "ordermart.toml").touch()
    with pytest.raises(NoReleaseError, match="run `ordermart run` first"):
        Tools(load_settings(tmp_path / "ordermart.toml", {}), Limits()).query("select 1")


def test_mcp_without_the_extra_says_how_to_install_it(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the package mcp the command ends with 2 and one sentence."""
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setattr(sys, "argv", ["ordermart", "mcp", "--config", str(world.file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "ordermart: the package mcp is not installed: pip install 'ordermart[mcp]'\n"
